"""The run history: what happened, what did not, and why."""
