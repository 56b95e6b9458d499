"""The transpiler's plugin: its command and rules, registered through the public hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.marker import hookimpl
from pyptx_ir.plugins.version import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Command, SugarRule

__all__ = ["pyptx_api_version", "pyptx_commands", "pyptx_sugar_rules"]


@hookimpl
def pyptx_api_version() -> int:
    """Return the hook version that this plugin implements; hooks and plugin are released together."""
    return API_VERSION


@hookimpl
def pyptx_commands() -> Sequence[Command]:
    """Return the `transpile` command."""
    from pyptx_ir.plugins.commands import command

    return (command("transpile", "print PTX as Python that emits the same bytes", "pyptx_transpile.command:run"),)


@hookimpl
def pyptx_sugar_rules() -> Sequence[SugarRule]:
    """Return the rewrite rules of this package."""
    from pyptx_transpile.rules.table import RULES

    return RULES
