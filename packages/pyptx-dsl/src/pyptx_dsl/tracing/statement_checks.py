"""Declarations and directives, each held by itself against the rules of `pyptx check`.

What only the rest of a module shows, such as a function that nothing defines, is left to `pyptx check` and ptxas.
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
    """The checks of the statements below one head: `.version`, `.target` and `.address_size`, as far as it has them."""

    __slots__ = ("_head", "_rules")

    def __init__(self, *head: nodes.Statement) -> None:
        """Remember the head; the rules are read when they are first asked."""
        self._head = head
        self._rules: OneByOne | None = None

    def below(self, node: nodes.Statement) -> StatementChecker:
        """Return the checks with one more statement in the head; raise DirectiveError if that is wrong there."""
        head = (*self._head, node)
        _refuse(_fault_of_head(head))
        return StatementChecker(*head)

    def rules(self) -> OneByOne:
        """Return the rules for this head."""
        if self._rules is None:
            from pyptx_ir.isa.modules.one_by_one import OneByOne

            self._rules = OneByOne(self._head)
        return self._rules

    def check(self, node: nodes.Statement) -> None:
        """Raise DirectiveError, at the user's line, for what ptxas refuses wherever it stands in a module."""
        _refuse(self.rules().first(node))

    def check_in_body(self, node: nodes.Statement) -> None:
        """Raise DirectiveError, at the user's line, for what ptxas refuses in the body of every function."""
        _refuse(self.rules().first_in_body(node))


@until_plugins_change(maxsize=1 << 10)
def _fault_of_head(head: tuple[nodes.Statement, ...]) -> Finding | None:
    """Return the first thing that is wrong with a head; most modules of a process have the same."""
    from pyptx_ir.isa.modules.one_by_one import OneByOne

    return OneByOne(head).of_head()


def _refuse(finding: Finding | None) -> None:
    if finding is not None:
        raise DirectiveError(finding.message, hint=finding.hint or None)
