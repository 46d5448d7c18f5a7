"""Looks up the days of countries, regions and calendar files; the pure folders cannot."""
