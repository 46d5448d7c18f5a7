-- Which of several schedules of a job its planned run, and each run, comes from: their keys, joined by commas.
ALTER TABLE scheduler_jobs ADD COLUMN next_keys TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_run_log ADD COLUMN schedule_keys TEXT NOT NULL DEFAULT '';
