"""The run history window."""
