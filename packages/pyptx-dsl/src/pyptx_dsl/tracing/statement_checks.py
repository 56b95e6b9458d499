"""Checks of single declarations and directives against the rules of `pyptx check`.

Errors that need the rest of a module, such as an undefined function, are left to `pyptx check` and ptxas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import DirectiveError
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.findings import Finding
    from pyptx_ir.isa.modules.one_by_one import OneByOne
    from pyptx_ir.syntax import nodes

__all__ = ["StatementChecker"]


class StatementChecker:
    """Checks of statements that follow a module's head: `.version`, `.target` and `.address_size`, if present."""

    __slots__ = ("_head", "_rules")

    def __init__(self, *head: nodes.Statement) -> None:
        """Store the first statements of a module, such as `.target`; the rules are loaded at first use."""
        self._head = head
        self._rules: OneByOne | None = None

    def below(self, node: nodes.Statement) -> StatementChecker:
        """Return a checker whose module head also has `node`; raise DirectiveError if `node` is invalid there."""
        head = (*self._head, node)
        _refuse(_fault_of_head(head))
        return StatementChecker(*head)

    def rules(self) -> OneByOne:
        """Return the rules of `pyptx check` for modules that start with these statements, such as `.target`."""
        if self._rules is None:
            from pyptx_ir.isa.modules.one_by_one import OneByOne

            self._rules = OneByOne(self._head)
        return self._rules

    def check(self, node: nodes.Statement) -> None:
        """Raise DirectiveError, at the user's line, for a statement that ptxas rejects at any position in a module."""
        _refuse(self.rules().first(node))

    def check_in_body(self, node: nodes.Statement) -> None:
        """Raise DirectiveError, at the user's line, for a statement that ptxas rejects in every function body."""
        _refuse(self.rules().first_in_body(node))


@until_plugins_change(maxsize=1 << 10)
def _fault_of_head(head: tuple[nodes.Statement, ...]) -> Finding | None:
    """Return the first error in a module's head, such as `.target`; cached, because most modules have equal heads."""
    from pyptx_ir.isa.modules.one_by_one import OneByOne

    return OneByOne(head).of_head()


def _refuse(finding: Finding | None) -> None:
    if finding is not None:
        raise DirectiveError(finding.message, help=finding.help or None)
