"""Version of the plugin API: its hooks and rows."""

from __future__ import annotations

API_VERSION = 1
"""Changes with each incompatible change of a hook or a row; a plugin states the API version it was written for."""
