"""Declarations and directives, each held by itself against the rules of `pyptx check`.

What only the rest of a module shows, such as a function that nothing defines, is left to `pyptx check` and ptxas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import DirectiveError
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_in_body", "check_statement"]

_OF_ONE_STATEMENT = frozenset(
    [
        "declaration",
        "directive-argument",
        "directive-conflict",
        "initializer",
        "misplaced-directive",
        "removed",
        "target",
        "target-version",
        "unknown-target",
        "unknown-version",
        "version",
    ]
)
"""The codes of `pyptx check` that no other statement can turn into something right."""


def check_statement(node: nodes.Statement, head: Sequence[nodes.Statement]) -> None:
    """Raise DirectiveError, at the user's line, for a statement of a module that ptxas refuses wherever it stands.

    `head` are the `.version`, `.target` and `.address_size` in front of it.
    """
    from pyptx_ir.isa.modules.check import findings_in

    for _, finding in findings_in(nodes.Module((*head, node)), None):
        if finding.code in _OF_ONE_STATEMENT:
            raise DirectiveError(finding.message, hint=finding.hint or None)


def check_in_body(node: nodes.Statement, head: Sequence[nodes.Statement]) -> None:
    """Raise DirectiveError for a statement of a function's body that ptxas refuses in every one."""
    check_statement(nodes.Function("func", "body", body=nodes.Block((node,))), head)
