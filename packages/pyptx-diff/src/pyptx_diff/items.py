"""Comparable form of a module: statements without names, plus the declarations that their names refer to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyptx_ir.syntax.nodes import Function, HeaderDirective, Parameter, Section, Statement
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyptx_diff.scopes import Declarations

Node: TypeAlias = Statement | Parameter | HeaderDirective


# For each name in a statement, the kind of its declaration; (name,) if undeclared.
Kinds: TypeAlias = "tuple[str | tuple[str], ...]"


class DiffItem(NamedTuple):
    """A statement, or a part of a function's header.

    `token` is the number of the statement's shape, its text without names (see `Tokens`). Two items with the same token
    differ at most in `names`, the numbers of the declarations that the names refer to. `at` is the index of the
    statement in `pyptx_ir.syntax.positions`.
    """

    token: int
    names: tuple[int, ...]
    node: Node
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The `DiffItem`s of a function in text order, header first; or those of the module outside functions.

    `kind` is `entry`, `func` or `module`; `declaration` is the number of the function's declaration. `variables` are
    the items of variable declarations, whose order does not count; the first of an item's `names` is the variable.
    """

    kind: str
    name: str
    items: list[DiffItem]
    variables: list[DiffItem]
    declaration: int = -1
    defined: bool = True


@dataclass(frozen=True, slots=True)
class Content:
    """Comparable content of a module: its statements outside functions, then its functions."""

    bodies: list[Body]
    declarations: Declarations


class Tokens(dict["Hashable", int]):
    """Number (token) of each statement shape; one numbering for both modules of a comparison."""

    __slots__ = ()

    def __missing__(self, shape: Hashable) -> int:
        """Assign the next free number (token) to a new statement shape, and return the number."""
        number = self[shape] = len(self)
        return number


def spelling(node: Node) -> str:
    """Return a statement's canonical text in one line; for a function or a section, only its head."""
    if isinstance(node, Function):
        head = replace(node, parameters=None, returns=(), directives=(), body=None)
        return spell(head).removesuffix(";")
    if isinstance(node, Section):
        return f".section {node.name}"
    return " ".join(spell(node).split())
