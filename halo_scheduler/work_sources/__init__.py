"""Work sources: queues that give each run an item and receive its result."""
