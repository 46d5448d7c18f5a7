"""The editor's page for what a due job waits for."""
