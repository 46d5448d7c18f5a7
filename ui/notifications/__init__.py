"""Desktop notifications."""
