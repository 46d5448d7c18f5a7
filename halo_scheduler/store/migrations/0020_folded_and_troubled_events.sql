-- Events that have no run of their own, with the run they are counted on: reported again, they are not counted again.
CREATE TABLE scheduler_folded_events (
    event_id  TEXT PRIMARY KEY,
    job_id    TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    run_id    TEXT NOT NULL,
    folded_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX scheduler_folded_events_of_job ON scheduler_folded_events (job_id);
CREATE INDEX scheduler_folded_events_old ON scheduler_folded_events (folded_at);

-- Webhooks of inactive jobs are received, too: the jobs with events are found by the index that has them all.
DROP INDEX scheduler_jobs_with_events;

-- Why events are not watched as they should be; the engine that watches writes it, and clears it once that is over.
CREATE TABLE scheduler_watch_trouble (
    job_id TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    key    TEXT NOT NULL,
    text   TEXT NOT NULL,
    since  INTEGER NOT NULL,
    PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;
