"""The plugin of pyptx-bundles: its command, registered through the public hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.marker import hookimpl
from pyptx_ir.plugins.version import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Command

__all__ = ["pyptx_api_version", "pyptx_commands"]


@hookimpl
def pyptx_api_version() -> int:
    """Return the hook version that this plugin implements; hooks and plugin are released together."""
    return API_VERSION


@hookimpl
def pyptx_commands() -> Sequence[Command]:
    """Return the `export` command."""
    from pyptx_ir.plugins.commands import command

    return (command("export", "compile a kernel ahead of time", "pyptx_bundles.command:export_command"),)
