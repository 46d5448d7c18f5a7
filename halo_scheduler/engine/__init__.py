"""The engine: claims due jobs, starts them, records their ends, recovers after a crash; and the loop that drives it."""
