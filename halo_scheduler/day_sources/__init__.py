"""The days of countries, regions and calendar files, looked up outside the pure folders."""
