-- The days of holidays, business days and calendar files: looked up outside, refreshed daily, last good ones kept.
CREATE TABLE scheduler_day_sources (
    source  TEXT PRIMARY KEY,
    days    TEXT NOT NULL,
    read_at INTEGER NOT NULL,
    trouble TEXT NOT NULL DEFAULT ''
) STRICT;
