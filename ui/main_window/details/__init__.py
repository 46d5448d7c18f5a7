"""The pane beside the table that shows one job."""
