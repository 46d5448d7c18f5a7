-- Runs that an event started: at most one per event and attempt, ever.
ALTER TABLE scheduler_run_log ADD COLUMN event_id TEXT;
CREATE UNIQUE INDEX scheduler_run_log_event ON scheduler_run_log (event_id, attempt) WHERE event_id IS NOT NULL;

-- An accepted event waits here for its run, and one that failed for its retry, which starts no earlier than `at`.
-- `folded` counts the events that came later and have no run of their own.
ALTER TABLE scheduler_requests ADD COLUMN event_id TEXT;
ALTER TABLE scheduler_requests ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
ALTER TABLE scheduler_requests ADD COLUMN schedule_key TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_requests ADD COLUMN folded INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX scheduler_requests_event ON scheduler_requests (event_id, attempt) WHERE event_id IS NOT NULL;
CREATE INDEX scheduler_requests_events_of_job ON scheduler_requests (job_id, schedule_key, at, seq) WHERE kind = 'event';
DROP INDEX scheduler_requests_chain_at;
CREATE INDEX scheduler_requests_queued ON scheduler_requests (at, seq) WHERE kind IN ('chain', 'event');
CREATE INDEX scheduler_requests_later ON scheduler_requests (at) WHERE kind IN ('snoozed', 'event');

-- Which jobs have events, so that others cost nothing.
ALTER TABLE scheduler_jobs ADD COLUMN has_events INTEGER NOT NULL DEFAULT 0;
CREATE INDEX scheduler_jobs_with_events ON scheduler_jobs (id)
    WHERE has_events = 1 AND removed_at IS NULL AND disabled_reason IS NULL AND paused = 0;

-- What the watcher of an event saw last: a list of files, the id of a boot or of a session.
CREATE TABLE scheduler_watch_state (
    job_id TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    key    TEXT NOT NULL,
    state  TEXT NOT NULL,
    PRIMARY KEY (job_id, key)
) STRICT;

