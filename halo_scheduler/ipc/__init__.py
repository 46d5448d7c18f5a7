"""The private socket between an engine and its clients, both ends."""
