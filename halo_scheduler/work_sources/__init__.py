"""Work sources: where a job's next item comes from, and where it is told what became of it."""
