-- Which file the engine has open: a copy of the database, such as a restored backup, is not run by it.
ALTER TABLE scheduler_engine ADD COLUMN file TEXT NOT NULL DEFAULT '';
