"""What must hold before a job starts: finding out whether it does, without ever waiting for that."""
