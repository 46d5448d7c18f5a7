"""Every sentence a person reads about jobs, runs and schedules, made from kinds and parameters."""
