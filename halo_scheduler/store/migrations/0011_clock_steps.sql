-- By how much the clock was set while a run was active: its duration is the rest of the time from start to end.
ALTER TABLE scheduler_run_log ADD COLUMN clock_step_ms INTEGER NOT NULL DEFAULT 0;
