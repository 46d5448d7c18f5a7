"""Asking a web server something, from a thread that may wait."""

from __future__ import annotations


class Web:
    """Sends requests."""
