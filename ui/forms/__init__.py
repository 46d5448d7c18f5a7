"""Form controls that the editor and the settings share."""
