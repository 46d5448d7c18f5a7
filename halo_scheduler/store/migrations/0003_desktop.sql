-- What a window shows of a million runs, and test runs of a job that is being edited.

-- The edited job of a test run, kept until that run has ended.
ALTER TABLE scheduler_requests ADD COLUMN payload TEXT NOT NULL DEFAULT '';
DROP INDEX scheduler_requests_others;
CREATE INDEX scheduler_requests_others ON scheduler_requests (seq) WHERE kind IN ('cancel', 'refresh');
CREATE INDEX scheduler_requests_by_hand ON scheduler_requests (seq) WHERE kind IN ('trigger', 'test');

-- By the instant that is shown of a run, which never changes: for dates, and for what is to be pruned.
DROP INDEX scheduler_run_log_finished;
CREATE INDEX scheduler_run_log_at ON scheduler_run_log (ifnull(started_at, finished_at));
-- Written once, when a run ends: for one outcome among many, and for counting days.
CREATE INDEX scheduler_run_log_outcome ON scheduler_run_log (outcome, ifnull(started_at, finished_at))
    WHERE outcome <> 'running';
-- The few that no schedule started.
CREATE INDEX scheduler_run_log_trigger ON scheduler_run_log (trigger, ifnull(started_at, finished_at))
    WHERE trigger <> 'schedule';
CREATE INDEX scheduler_run_log_caught_up ON scheduler_run_log (slot_at) WHERE source = 'catch-up';

CREATE INDEX scheduler_events_gap ON scheduler_events (at) WHERE kind IN ('engine-started', 'sleep-gap');
