"""Reading from and writing to a terminal: tables, colours, progress, prompts."""
