"""Check the declarations and directives of an incomplete module, each statement on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.check import prepare
from pyptx_ir.isa.modules.checks import checks_for
from pyptx_ir.isa.modules.scopes import Scope
from pyptx_ir.isa.modules.walk import Routine, Walk
from pyptx_ir.syntax.nodes import Block, Function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.modules.findings import Finding
    from pyptx_ir.syntax.nodes import Statement

__all__ = ["OneByOne"]

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
"""Codes of errors that are errors regardless of the module's other statements."""

_BODY = Function("func", "body", body=Block(()))


class OneByOne:
    """Checker of statements under one module header. It does not find errors that depend on the whole module."""

    def __init__(self, head: Sequence[Statement]) -> None:
        """Read version and target from the first statements of the module."""
        self._walk = walk = Walk(checks_for(_OF_ONE_STATEMENT), None)
        prepare(walk, head)
        walk.at = walk.header_end
        self._of_head = tuple([finding for _, finding in walk.found])

    def first(self, node: Statement) -> Finding | None:
        """Return the first error of a statement at any position in the module; for a function, including its header."""
        walk = self._walk
        walk.found.clear()
        walk.body((node,))
        walk.names.clear()  # `names` is keyed by the `id` of each operand, which a later operand may reuse
        if isinstance(node, Function):
            # Declare the function for later statements, whose initializers may contain its name.
            walk.module_scope[node.name] = f".{node.kind}"
        return _first([finding for _, finding in walk.found])

    def first_in_body(self, node: Statement) -> Finding | None:
        """Return the first error of a statement in the body of any function."""
        walk = self._walk
        walk.scope = Scope(walk.module_scope)
        walk.routine = Routine(_BODY, walk.at, walk.scope)
        try:
            return self.first(node)
        finally:
            walk.scope, walk.routine = walk.module_scope, None

    def of_head(self) -> Finding | None:
        """Return the first error of the module header."""
        return _first(self._of_head)


def _first(found: Sequence[Finding]) -> Finding | None:
    return next((finding for finding in found if finding.code in _OF_ONE_STATEMENT), None)
