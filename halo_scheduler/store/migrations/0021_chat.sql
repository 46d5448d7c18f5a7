-- What the listener of a bot last wrote: up to where it received messages, who it is, and what keeps it from listening.
CREATE TABLE scheduler_chat_bots (
    name     TEXT PRIMARY KEY,
    token_at INTEGER NOT NULL,
    position TEXT NOT NULL,
    identity TEXT NOT NULL,
    since    INTEGER NOT NULL,
    fault    TEXT NOT NULL
) STRICT;

-- People who wrote to a bot without permission, the newest only.
CREATE TABLE scheduler_chat_strangers (
    bot         TEXT NOT NULL,
    sender      TEXT NOT NULL,
    sender_name TEXT NOT NULL,
    channel     TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (bot, sender)
) STRICT;

-- Where the answer to a message goes: it is open until the run of the message has ended and the answer waits to be sent.
CREATE TABLE scheduler_chat_threads (
    event_id    TEXT PRIMARY KEY,
    job_id      TEXT NOT NULL REFERENCES scheduler_jobs (id) ON DELETE CASCADE,
    bot         TEXT NOT NULL,
    channel     TEXT NOT NULL,
    thread      TEXT NOT NULL,
    at          INTEGER NOT NULL,
    is_open     INTEGER NOT NULL DEFAULT 1,
    is_told     INTEGER NOT NULL DEFAULT 0,
    question_id TEXT
) STRICT;

CREATE INDEX scheduler_chat_threads_open ON scheduler_chat_threads (at) WHERE is_open = 1;
CREATE INDEX scheduler_chat_threads_asking ON scheduler_chat_threads (bot, channel) WHERE question_id IS NOT NULL;
CREATE INDEX scheduler_chat_threads_at ON scheduler_chat_threads (at);

-- Answers that are to be sent.
CREATE TABLE scheduler_chat_replies (
    seq     INTEGER PRIMARY KEY,
    bot     TEXT NOT NULL,
    channel TEXT NOT NULL,
    thread  TEXT NOT NULL,
    text    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    tries   INTEGER NOT NULL DEFAULT 0,
    due_at  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX scheduler_chat_replies_of_bot ON scheduler_chat_replies (bot, due_at);
