-- Snoozed reminders are one kind of manual runs that start no earlier than an instant.
UPDATE scheduler_requests SET kind = 'later' WHERE kind = 'snoozed';

DROP INDEX IF EXISTS scheduler_requests_later;
CREATE INDEX scheduler_requests_later ON scheduler_requests (at) WHERE kind IN ('later', 'event');
