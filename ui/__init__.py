"""The desktop program: a client of the service, drawn with Qt widgets."""
