"""The program itself: start, windows, session, quit."""
