"""Jobs in and out: files that hold jobs, and what taking them in would change."""
