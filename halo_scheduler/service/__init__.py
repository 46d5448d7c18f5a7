"""`Scheduler`, the one way in for the command line, the desktop program and library users."""
