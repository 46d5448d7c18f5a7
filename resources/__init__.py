"""Icons and templates, read with importlib.resources."""
