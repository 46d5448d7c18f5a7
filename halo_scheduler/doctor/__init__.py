"""Checks of the whole installation, with repairs."""
