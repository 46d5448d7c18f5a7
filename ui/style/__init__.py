"""Colours, fonts, icons, marks and the words that every window shares."""
