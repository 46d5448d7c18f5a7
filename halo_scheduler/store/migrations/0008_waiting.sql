-- What a due run waits for is a kind and its parameters instead of a sentence; the engine finds both at its next tick.

ALTER TABLE scheduler_jobs RENAME COLUMN waiting_reason TO waiting_details;
UPDATE scheduler_jobs SET waiting_details = '' WHERE waiting_details <> '';

ALTER TABLE scheduler_requests RENAME COLUMN waiting_reason TO waiting_details;
ALTER TABLE scheduler_requests ADD COLUMN waiting_for TEXT;
UPDATE scheduler_requests SET waiting_details = '' WHERE waiting_details <> '';
