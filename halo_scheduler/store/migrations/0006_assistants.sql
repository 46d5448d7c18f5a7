-- What each assistant did, and how far assistants may go.

-- The name of the assistant that did it; NULL for people and for the engine.
ALTER TABLE scheduler_events ADD COLUMN assistant TEXT;
CREATE INDEX scheduler_events_assistant ON scheduler_events (seq) WHERE assistant IS NOT NULL;

-- The switch "may edit" became a choice of three levels.
INSERT INTO scheduler_settings (key, value)
    SELECT 'assistants', CASE value WHEN 'true' THEN 'edit' ELSE 'run' END
    FROM scheduler_settings WHERE key = 'assistants_may_edit';
DELETE FROM scheduler_settings WHERE key = 'assistants_may_edit';
