"""The table of jobs."""
