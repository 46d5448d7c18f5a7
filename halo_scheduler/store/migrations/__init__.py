"""The numbered migrations of the schema; a released one is never edited."""
