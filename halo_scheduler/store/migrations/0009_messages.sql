-- What is said about runs is a list of kinds and parameters instead of sentences; the sentences of older versions stay
-- readable as words of the kind "text".

UPDATE scheduler_run_log
SET error = json_array(json_object('kind', 'text', 'params', json_object('text', error)))
WHERE error <> '';

UPDATE scheduler_run_log
SET note = json_array(json_object('kind', 'text', 'params', json_object('text', note)))
WHERE note <> '';

UPDATE scheduler_jobs
SET last_error = json_array(json_object('kind', 'text', 'params', json_object('text', last_error)))
WHERE last_error <> '';

-- What a claimed run waits for was a sentence as well: no engine runs now, so none waits.
UPDATE scheduler_jobs SET waiting_for = NULL, waiting_details = '' WHERE waiting_for IN ('resources', 'disk_space');
