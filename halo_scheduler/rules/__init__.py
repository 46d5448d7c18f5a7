"""Decisions about stored jobs that the engine and the service share."""
