"""Access to the service and the engine, each in its own thread."""
