"""Assistants: what they may see of the jobs and do with them, over the Model Context Protocol."""
