"""Compare two PTX modules for differences beyond names and formatting."""

from __future__ import annotations

from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, cast

from pyptx_diff.changes import Changes, redeclared, renamings
from pyptx_diff.explanation import ChangeReasons
from pyptx_diff.items import Tokens
from pyptx_diff.line_numbers import Places
from pyptx_diff.modules import align_modules
from pyptx_diff.naming import Naming
from pyptx_diff.reader import Reader
from pyptx_diff.result import Comparison, FunctionDifference, Renaming
from pyptx_ir.syntax.nodes import Module, Statement, Version
from pyptx_ir.syntax.parser import parse
from pyptx_ir.syntax.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_diff.items import Kinds
    from pyptx_diff.shapes import Shape

CONTEXT = 3


def compare(before: str | Module, after: str | Module, *, debug: bool = False, context: int = CONTEXT) -> Comparison:
    """Return the differences between `after` and `before`, with `context` statements around each change.

    Two modules are equal if one-to-one renaming, formatting and reordering of declarations turn one into the other.
    Renaming applies to registers, labels, parameters, and private functions and variables. With `debug`, `.loc`,
    `.file` and debugging sections count too. The time is near-linear in the size of the texts, however different they
    are.

    Raises:
        PtxSyntaxError: a text is not valid PTX.

    """
    trees = [parse(one) if isinstance(one, str) else one for one in (before, after)]
    places = Places(trees[0]), Places(trees[1])
    tokens = Tokens()
    parts: list[FunctionDifference] = []
    renamed: list[Renaming] = []
    for sides in zip_longest(_modules(trees[0]), _modules(trees[1]), fillvalue=(0, ())):
        mine, other = (Reader(tokens, at - 1, debug=debug).read(body) for at, body in sides)
        shapes, kinds = _taken_apart(tokens)
        bodies, renaming = align_modules(mine, other, shapes)
        naming = Naming(mine.declarations, other.declarations, renaming)
        explanation = ChangeReasons(mine.declarations, other.declarations, renaming, kinds, naming)
        explanation.name(bodies)
        changes = Changes(explanation, *places, context, redeclared(explanation))
        parts += filter(None, map(changes.part, bodies))
        renamed += renamings(explanation)
    return Comparison(tuple(parts), tuple(renamed))


def _modules(tree: Module) -> Iterator[tuple[int, tuple[Statement, ...]]]:
    """Yield the modules in a text, each with the number of its first statement; a cuobjdump listing has several."""
    versions = [place for place, node in enumerate(tree.body) if isinstance(node, Version)]
    at = 0
    for start, end in pairwise((0, *versions[1:], len(tree.body))):
        body = tree.body[start:end]
        yield at, body
        at += sum(1 for _ in walk(Module(body))) if end < len(tree.body) else 0


def _taken_apart(tokens: Tokens) -> tuple[list[Shape], list[Kinds]]:
    """Return, from the keys of `Tokens`, each statement shape, and the declaration kinds of the names in the shape."""
    both = [cast("tuple[Shape, Kinds]", one) for one in tokens]
    return [shape for shape, _ in both], [kinds for _, kinds in both]
