"""Conditions: what must be met before a job starts, observed without blocking the engine."""
