-- The address of a job that other programs call; of its token only the SHA-256 is stored.
CREATE TABLE scheduler_webhooks (
    job_id     TEXT PRIMARY KEY REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    token_id   TEXT NOT NULL UNIQUE,
    token_hash BLOB NOT NULL,
    made_at    INTEGER NOT NULL,
    signature  TEXT,
    key_name   TEXT NOT NULL DEFAULT '',
    window_ms  INTEGER NOT NULL
) STRICT;

-- What was received with a signature, so that it is not accepted again.
CREATE TABLE scheduler_webhook_deliveries (
    job_id    TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    digest    BLOB NOT NULL,
    forget_at INTEGER NOT NULL,
    PRIMARY KEY (job_id, digest)
) STRICT;

CREATE INDEX scheduler_webhook_deliveries_old ON scheduler_webhook_deliveries (forget_at);

-- Where the engine listens, or why it cannot.
CREATE TABLE scheduler_webhook_listener (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    address TEXT NOT NULL,
    port    INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    fault   TEXT NOT NULL
) STRICT;

CREATE INDEX scheduler_jobs_of_events ON scheduler_jobs (name) WHERE has_events = 1 AND removed_at IS NULL;
