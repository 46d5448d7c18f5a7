"""HTTP client, for threads that may block; urllib3 is loaded with the first request."""
