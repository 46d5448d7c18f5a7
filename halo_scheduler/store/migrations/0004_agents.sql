-- Prompts for agents: what runs cost, the items they work on, the questions they leave, and caps on all that.
ALTER TABLE scheduler_run_log ADD COLUMN cost REAL;
ALTER TABLE scheduler_run_log ADD COLUMN work_id TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_run_log ADD COLUMN work_title TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_run_log ADD COLUMN work_url TEXT NOT NULL DEFAULT '';

-- Who paused a job, when it was not the user.
ALTER TABLE scheduler_jobs ADD COLUMN paused_by TEXT;

-- Runs may be pruned before the question they left is answered.
CREATE TABLE scheduler_questions (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    job_id        TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    run_id        TEXT NOT NULL,
    asked_at      INTEGER NOT NULL,
    text          TEXT NOT NULL,
    state         TEXT NOT NULL,
    answer        TEXT NOT NULL DEFAULT '',
    settled_at    INTEGER,
    answer_run_id TEXT,
    work_id       TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX scheduler_questions_job ON scheduler_questions (job_id, seq);
CREATE INDEX scheduler_questions_run ON scheduler_questions (run_id);
CREATE INDEX scheduler_questions_open ON scheduler_questions (job_id) WHERE state = 'open';

-- How often a job ran on a day, and for how much: the log itself may be pruned within the day.
CREATE TABLE scheduler_usage (
    job_id TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    day    TEXT NOT NULL,
    runs   INTEGER NOT NULL,
    cost   REAL NOT NULL,
    PRIMARY KEY (job_id, day)
) STRICT;

-- An answer waits for its job like a run by hand.
DROP INDEX scheduler_requests_by_hand;
CREATE INDEX scheduler_requests_by_hand ON scheduler_requests (seq) WHERE kind IN ('trigger', 'test', 'answer');
