"""The tray icon, its menu and its state."""
