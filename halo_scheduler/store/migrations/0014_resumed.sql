-- Whether a job was resumed since its last run ended: then a failure of that run no longer counts.
ALTER TABLE scheduler_jobs ADD COLUMN resumed_since_run INTEGER NOT NULL DEFAULT 0;
