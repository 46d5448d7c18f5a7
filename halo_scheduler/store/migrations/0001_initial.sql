CREATE TABLE scheduler_jobs (
    id                TEXT PRIMARY KEY,
    -- The user's: written by add and update only.
    name              TEXT NOT NULL,
    description       TEXT NOT NULL,
    group_name        TEXT,
    schedule          TEXT NOT NULL,
    action            TEXT NOT NULL,
    policy            TEXT NOT NULL,
    anchor_at         INTEGER NOT NULL,
    enabled           INTEGER NOT NULL,
    metadata          TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    removed_at        INTEGER,
    -- The engine's: never written by an edit, except to plan anew.
    run_id            TEXT,
    disabled_reason   TEXT,
    paused            INTEGER NOT NULL DEFAULT 0,
    paused_until      INTEGER,
    waiting_for       TEXT,
    next_run_at       INTEGER,
    next_source       TEXT,
    slot_at           INTEGER,
    attempt           INTEGER NOT NULL DEFAULT 1,
    trail             TEXT NOT NULL DEFAULT '[]',
    counted_until     INTEGER NOT NULL,
    passed_reason     TEXT NOT NULL DEFAULT '',
    last_slot_at      INTEGER,
    -- Runs of slots up to here may have been pruned from the log: they count as run.
    pruned_until      INTEGER NOT NULL DEFAULT 0,
    hint_interval_ms  INTEGER,
    hint_next_at      INTEGER,
    hint_expires_at   INTEGER,
    hint_reason       TEXT NOT NULL DEFAULT '',
    errors            INTEGER NOT NULL DEFAULT 0,
    last_run_at       INTEGER,
    last_completed_at INTEGER,
    last_outcome      TEXT,
    last_error        TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE UNIQUE INDEX scheduler_jobs_name ON scheduler_jobs (name) WHERE removed_at IS NULL;
CREATE INDEX scheduler_jobs_due ON scheduler_jobs (next_run_at)
    WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL;
CREATE INDEX scheduler_jobs_pause_end ON scheduler_jobs (paused_until)
    WHERE paused_until IS NOT NULL AND removed_at IS NULL;
CREATE INDEX scheduler_jobs_removed ON scheduler_jobs (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX scheduler_jobs_unplanned ON scheduler_jobs (id)
    WHERE next_run_at IS NULL AND run_id IS NULL AND removed_at IS NULL AND disabled_reason IS NULL AND paused = 0;

CREATE TABLE scheduler_run_log (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    job_id        TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    slot_at       INTEGER,
    attempt       INTEGER NOT NULL,
    trigger       TEXT NOT NULL,
    source        TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    reason        TEXT,
    error         TEXT NOT NULL DEFAULT '',
    started_at    INTEGER,
    finished_at   INTEGER,
    late_ms       INTEGER NOT NULL DEFAULT 0,
    passed_over   INTEGER NOT NULL DEFAULT 0,
    passed_reason TEXT NOT NULL DEFAULT '',
    exit_code     INTEGER,
    http_status   INTEGER,
    generation    INTEGER NOT NULL,
    -- The promise of "at most once": NULL slots, of runs by hand, do not collide.
    UNIQUE (job_id, slot_at, attempt)
) STRICT;

CREATE INDEX scheduler_run_log_job ON scheduler_run_log (job_id, seq);
CREATE INDEX scheduler_run_log_running ON scheduler_run_log (seq) WHERE outcome = 'running';
CREATE INDEX scheduler_run_log_finished ON scheduler_run_log (finished_at);

CREATE TABLE scheduler_run_output (
    run_id  TEXT PRIMARY KEY REFERENCES scheduler_run_log (id) ON DELETE CASCADE,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE scheduler_events (
    seq    INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    job_id TEXT,
    kind   TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

CREATE INDEX scheduler_events_job ON scheduler_events (job_id, seq);

CREATE TABLE scheduler_groups (
    name           TEXT PRIMARY KEY,
    max_concurrent INTEGER NOT NULL
) STRICT;

-- What someone asked of the engine, from whatever process: it takes these at its next tick.
CREATE TABLE scheduler_requests (
    seq    INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL,
    job_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE TABLE scheduler_settings (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE scheduler_engine (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    generation    INTEGER NOT NULL,
    owner         TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    process_start TEXT NOT NULL,
    expires_at    INTEGER NOT NULL,
    started_at    INTEGER NOT NULL,
    stopped_at    INTEGER,
    last_tick_at  INTEGER NOT NULL,
    ticks         INTEGER NOT NULL,
    runs          INTEGER NOT NULL,
    zone          TEXT NOT NULL
) STRICT;
