"""Jobs, runs, events and settings in one SQLite file: all SQL lives here."""
