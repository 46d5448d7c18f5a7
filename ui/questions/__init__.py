"""Questions that runs ask and people answer."""
