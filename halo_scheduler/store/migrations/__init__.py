"""The numbered steps of the schema; a released one is never edited."""
