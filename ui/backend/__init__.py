"""The way to the service and the engine, in threads of their own."""
