"""What starts jobs beside time: files, the session, webhooks, chat."""
