"""Talking to web servers, good and bad, from threads that may wait; urllib3 is loaded with the first request."""
