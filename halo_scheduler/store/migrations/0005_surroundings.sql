-- Jobs that adapt to their surroundings: conditions, chains, hints with their source, what runs propose.

-- The jobs that run after this one, and whether it has conditions, which are looked at also when no place is free.
ALTER TABLE scheduler_jobs ADD COLUMN followers TEXT NOT NULL DEFAULT '[]';
ALTER TABLE scheduler_jobs ADD COLUMN has_conditions INTEGER NOT NULL DEFAULT 0;

-- Why a due job waits, and until when it does at most.
ALTER TABLE scheduler_jobs ADD COLUMN waiting_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_jobs ADD COLUMN waits_until INTEGER;
ALTER TABLE scheduler_jobs ADD COLUMN hint_source TEXT;

CREATE INDEX scheduler_jobs_due_with_conditions ON scheduler_jobs (next_run_at)
    WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND has_conditions = 1;
-- A group may have to be quiet, which is looked at also when no place is free.
CREATE INDEX scheduler_jobs_due_in_group ON scheduler_jobs (group_name, next_run_at, id)
    WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND group_name IS NOT NULL;
-- A due job may have waited for something else before it lacks a place.
DROP INDEX scheduler_jobs_new_waiting;
CREATE INDEX scheduler_jobs_new_waiting ON scheduler_jobs (next_run_at)
    WHERE next_run_at IS NOT NULL AND run_id IS NULL AND removed_at IS NULL AND waiting_for IS NOT 'at_capacity';
CREATE INDEX scheduler_jobs_waits_until ON scheduler_jobs (waits_until)
    WHERE waits_until IS NOT NULL AND removed_at IS NULL;

-- The run whose end started this one, and what this one proposed about its own job.
ALTER TABLE scheduler_run_log ADD COLUMN caused_by TEXT;
ALTER TABLE scheduler_run_log ADD COLUMN proposal TEXT;
CREATE UNIQUE INDEX scheduler_run_log_caused_by ON scheduler_run_log (caused_by, job_id) WHERE caused_by IS NOT NULL;

-- A chain run waits here for its place; its payload is the run that caused it. One for each run and follower, ever.
CREATE UNIQUE INDEX scheduler_requests_chain ON scheduler_requests (payload, job_id) WHERE kind = 'chain';
CREATE INDEX scheduler_requests_run ON scheduler_requests (run_id);
CREATE INDEX scheduler_requests_chain_at ON scheduler_requests (at, seq) WHERE kind = 'chain';
ALTER TABLE scheduler_requests ADD COLUMN waiting_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE scheduler_requests ADD COLUMN waits_until INTEGER;
