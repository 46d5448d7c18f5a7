"""How work is done: commands, HTTP requests and functions, and what they print."""
