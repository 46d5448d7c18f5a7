"""Parsers: intervals, cron expressions, zones, typed times, templates, plain text, redaction."""
