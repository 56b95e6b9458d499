"""The DSL as a plugin."""

from __future__ import annotations

from pyptx_ir.plugins import API_VERSION, hookimpl


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the hooks that this was written for."""
    return API_VERSION
