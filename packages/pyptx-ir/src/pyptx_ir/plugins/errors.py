"""Errors of plugins."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class PluginError(PyptxError):
    """A plugin that conflicts with another, fails to import, or uses another API version."""


class MissingPackageError(PluginError, ImportError):
    """A name of a module that needs a package that is not installed. `from … import` shows it as an ImportError."""


class MissingPluginError(PluginError, AttributeError):
    """A feature that no installed plugin provides; also an AttributeError, so that `hasattr` and completion work."""
