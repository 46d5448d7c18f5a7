"""The editor's page for what a job does."""
