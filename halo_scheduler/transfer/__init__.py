"""Import, export and apply: job files and what importing them would change."""
