"""Runs actions: commands, HTTP requests, prompts, reminders and Python functions, and reads their output."""
