"""The editor's page for the jobs that run after a job."""
