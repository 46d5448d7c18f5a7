"""The desktop program: start, session, windows, quit."""
