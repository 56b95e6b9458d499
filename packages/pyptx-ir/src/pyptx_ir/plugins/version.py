"""The version of the hooks."""

from __future__ import annotations

API_VERSION = 1
"""Changes when a hook or a row changes in a way that breaks plugins; a plugin states the one it was written for."""
