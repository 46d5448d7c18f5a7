"""The editor's page for when a job runs."""
