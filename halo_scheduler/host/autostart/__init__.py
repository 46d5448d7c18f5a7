"""Starting the program when the user logs in, on each system in its own way."""
