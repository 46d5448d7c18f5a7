"""Every sentence people read about jobs, runs and schedules, built from kinds and parameters."""
