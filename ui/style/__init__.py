"""Colours, fonts, icons, marks and shared words."""
