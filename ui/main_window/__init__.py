"""The job window."""
