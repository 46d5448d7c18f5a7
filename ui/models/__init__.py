"""Item models: what tables show."""
