"""Watchers of events that start jobs: files, the session, webhooks, chat."""
