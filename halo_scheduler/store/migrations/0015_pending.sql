-- The points of a job that passed and still get a run each, and when its active run makes way for the next one.
ALTER TABLE scheduler_jobs ADD COLUMN pending TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_jobs ADD COLUMN restarts_at INTEGER;

CREATE INDEX scheduler_jobs_restarting ON scheduler_jobs (restarts_at) WHERE restarts_at IS NOT NULL;
