"""A module as what is compared: items without names, and beside them which declarations their names stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pyptx_ir.syntax.nodes import Function, HeaderDirective, Parameter, Section, Statement
from pyptx_ir.syntax.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyptx_ir.diff.scopes import Declarations

Node: TypeAlias = Statement | Parameter | HeaderDirective


Kinds: TypeAlias = "tuple[str | tuple[str], ...]"  # of an item's names; one that is not declared is here itself


class Item(NamedTuple):
    """A statement, or a part of a function's header.

    `token` is the number of what it is without names: two items with the same token differ at most in `names`, the
    numbers of the declarations that its names stand for. `at` is the number of the statement, as `positions` counts.
    """

    token: int
    names: tuple[int, ...]
    node: Node
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The items of a function in order, those of its header first; or those of the module outside of functions.

    `kind` is `entry`, `func` or `module`, `declaration` what the function's name stands for. `variables` are the items
    whose place does not count; the first of the `names` of each is its own.
    """

    kind: str
    name: str
    items: list[Item]
    variables: list[Item]
    declaration: int = -1
    defined: bool = True


@dataclass(frozen=True, slots=True)
class Content:
    """All that is compared of a module: its own body, then its functions."""

    bodies: list[Body]
    declarations: Declarations


class Tokens(dict["Hashable", int]):
    """The number of each shape. Both sides of a comparison share them."""

    __slots__ = ()

    def __missing__(self, shape: Hashable) -> int:
        """Give a new shape the next number."""
        number = self[shape] = len(self)
        return number


def spelling(node: Node) -> str:
    """Return an item's canonical text in one line; of a function or a section what stands before its parts."""
    if isinstance(node, Function):
        head = replace(node, parameters=None, returns=(), directives=(), body=None)
        return spell(head).removesuffix(";")
    if isinstance(node, Section):
        return f".section {node.name}"
    return " ".join(spell(node).split())
