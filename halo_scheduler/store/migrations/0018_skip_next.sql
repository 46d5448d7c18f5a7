-- Whether the next slot of a job is skipped, because somebody asked for that.
ALTER TABLE scheduler_jobs ADD COLUMN skips_next INTEGER NOT NULL DEFAULT 0;
