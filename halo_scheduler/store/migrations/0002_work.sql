-- What real work leaves behind: notes, progress, output; and where secrets are kept (never what they are).
ALTER TABLE scheduler_run_log ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_run_log ADD COLUMN progress REAL;
ALTER TABLE scheduler_run_log ADD COLUMN progress_text TEXT NOT NULL DEFAULT '';

-- Nothing was ever written to the old table. The sizes stand before the content, and in an index of their own, so
-- that adding them up does not read all output there is.
DROP TABLE scheduler_run_output;

CREATE TABLE scheduler_run_output (
    seq          INTEGER PRIMARY KEY,
    run_id       TEXT NOT NULL UNIQUE REFERENCES scheduler_run_log (id) ON DELETE CASCADE,
    total_bytes  INTEGER NOT NULL,
    stored_bytes INTEGER NOT NULL,
    -- Compressed with zlib.
    content      BLOB NOT NULL
) STRICT;

CREATE INDEX scheduler_run_output_size ON scheduler_run_output (seq, stored_bytes);

-- With thousands of jobs waiting for a place, the next few are found without sorting the others.
DROP INDEX scheduler_jobs_due;
CREATE INDEX scheduler_jobs_due ON scheduler_jobs (next_run_at, id)
    WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL;
-- And only the new ones among them are marked as waiting.
CREATE INDEX scheduler_jobs_new_waiting ON scheduler_jobs (next_run_at)
    WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND waiting_for IS NULL;

CREATE INDEX scheduler_requests_others ON scheduler_requests (seq) WHERE kind <> 'trigger';

CREATE TABLE scheduler_secrets (
    name       TEXT PRIMARY KEY,
    place      TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
