-- Parameters of jobs with their defaults, and what each run was given.
ALTER TABLE scheduler_jobs ADD COLUMN parameters TEXT NOT NULL DEFAULT '{}';
ALTER TABLE scheduler_run_log ADD COLUMN parameters TEXT NOT NULL DEFAULT '{}';
ALTER TABLE scheduler_run_log ADD COLUMN input_bytes INTEGER NOT NULL DEFAULT 0;

-- A requested run keeps its own until it starts. The input is compressed with zlib.
ALTER TABLE scheduler_requests ADD COLUMN parameters TEXT NOT NULL DEFAULT '{}';
ALTER TABLE scheduler_requests ADD COLUMN input_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scheduler_requests ADD COLUMN input BLOB;

CREATE TABLE scheduler_run_input (
    seq          INTEGER PRIMARY KEY,
    -- Deferred: it is taken from the request just before the run itself is written.
    run_id       TEXT NOT NULL UNIQUE
                 REFERENCES scheduler_run_log (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    total_bytes  INTEGER NOT NULL,
    stored_bytes INTEGER NOT NULL,
    content      BLOB NOT NULL
) STRICT;

CREATE INDEX scheduler_run_input_size ON scheduler_run_input (seq, stored_bytes);

-- What was plain text in requests of older versions, and would be a variable now, stays plain text.
UPDATE scheduler_jobs
SET action = replace(replace(replace(replace(action,
        '{{input', '\\{{input'), '{{ input', '\\{{ input'),
        '{{param.', '\\{{param.'), '{{ param.', '\\{{ param.')
WHERE json_valid(action) AND json_extract(action, '$.kind') = 'http' AND action LIKE '%{{%}}%';
