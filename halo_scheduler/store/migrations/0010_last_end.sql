-- When the last run of a job ended, whoever started it; the interval of `after` counts from there.
ALTER TABLE scheduler_jobs ADD COLUMN last_ended_at INTEGER;
UPDATE scheduler_jobs SET last_ended_at = max(
    ifnull(last_completed_at, -1),
    ifnull((SELECT max(run.finished_at) FROM scheduler_run_log AS run
            WHERE run.job_id = scheduler_jobs.id AND run.trigger <> 'test' AND run.started_at IS NOT NULL), -1));
UPDATE scheduler_jobs SET last_ended_at = NULL WHERE last_ended_at = -1;

-- Who advised a single run, why and until when, apart from the pace.
ALTER TABLE scheduler_jobs ADD COLUMN hint_next_expires_at INTEGER;
ALTER TABLE scheduler_jobs ADD COLUMN hint_next_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_jobs ADD COLUMN hint_next_source TEXT;
UPDATE scheduler_jobs SET hint_next_expires_at = hint_expires_at, hint_next_reason = hint_reason,
    hint_next_source = hint_source WHERE hint_next_at IS NOT NULL;

-- Since when an engine starts nothing any more and waits for its runs.
ALTER TABLE scheduler_engine ADD COLUMN stopping_at INTEGER;

-- Whether a manual run may start although the limit of its group is reached.
ALTER TABLE scheduler_requests ADD COLUMN passes_group INTEGER NOT NULL DEFAULT 0;
