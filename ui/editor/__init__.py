"""The job editor: takes a job and gives one back."""
