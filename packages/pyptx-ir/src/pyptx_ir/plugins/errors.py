"""What goes wrong with plugins."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class PluginError(PyptxError):
    """A plugin that clashes with another, fails to import, or speaks another API version."""


class MissingPackageError(PluginError, ImportError):
    """A name of a module that belongs to a package which is not installed; `from … import` shows an ImportError."""


class MissingPluginError(PluginError, AttributeError):
    """Something that no installed plugin provides; an AttributeError too, so that `hasattr` and completion work."""
