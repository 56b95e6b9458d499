"""Text of the first module's statements with names of the second, to compare both sides of a change."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from pyptx_diff.items import spelling
from pyptx_diff.pairing import pair_by_key
from pyptx_diff.renaming import Bijection
from pyptx_ir.syntax.nodes import Instruction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_diff.items import DiffItem
    from pyptx_diff.scopes import Declarations

ONLY_FIRST = "A:"
"""Prefix of a name of the first module without a counterpart, if the second uses the name for another declaration."""
# Matches a PTX name, or a string literal, which is skipped because names in strings are not renamed.
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w$%.])[%$\w]+', re.ASCII)


class Naming:
    """The name in the second module for each declaration of the first: a one-to-one relation of declarations.

    Registers, labels, parameters, private functions and private variables get the name of their counterpart. Public
    names stay unchanged, because renaming them is a difference.
    """

    def __init__(self, before: Declarations, after: Declarations, renaming: Bijection) -> None:
        self._before, self._after = before, after
        self._counterparts = Bijection()
        for pair in renaming.items():
            self._counterparts.add(*pair)

    def pair(self, mine: int, other: int) -> None:
        """Pair two declarations of equal kind and type, unless one of the two is already paired."""
        one, two = self._before[mine], self._after[other]
        if (one.kind, one.detail) == (two.kind, two.detail):
            self._counterparts.add(mine, other)

    def pair_by_name(self, functions: Mapping[str, str]) -> None:
        """Pair the unpaired declarations by name; `functions` maps functions of the first module to the second's."""
        taken = set(self._counterparts.values())
        left = [number for number in range(len(self._before)) if number not in self._counterparts]
        right = [number for number in range(len(self._after)) if number not in taken]
        found, _, _ = pair_by_key(
            left,
            right,
            lambda number: (functions.get((one := self._before[number]).function, ""), one.name),
            lambda number: ((two := self._after[number]).function, two.name),
        )
        for pair in found:
            self.pair(*pair)

    @cached_property
    def _known(self) -> dict[str, set[str]]:
        """Declared names of the second module, by the function that declares them."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for one in self._after:
            found[one.function].add(one.name)
        return found

    def name(self, number: int, function: str) -> str:
        """Return the name, in a function of the second module, for a declaration of the first."""
        one, partner = self._before[number], self._counterparts.get(number)
        if partner is not None:
            two = self._after[partner]
            return one.name if one.public or two.public else two.name
        taken = any(one.name in self._known.get(where, ()) for where in (function, ""))
        return f"{ONLY_FIRST}{one.name}" if taken and not one.public else one.name

    def text(self, text: str, numbers: Sequence[int], function: str) -> str:
        """Return an operand's or directive's text with the second module's names for the declarations `numbers`."""
        names = {self._before[number].name: self.name(number, function) for number in numbers}
        if all(name == other for name, other in names.items()):
            return text
        return _NAME.sub(lambda found: names.get(found[0], found[0]), text)

    def statement(self, item: DiffItem, function: str) -> str:
        """Return the text of a statement of the first module, with the second module's names."""
        whole = spelling(item.node)
        if not isinstance(item.node, Instruction):
            return self.text(whole, item.names, function)
        words = ".".join(item.node.opcode)
        guard, opcode, operands = whole.partition(words) if item.node.guard is None else _guarded(whole, words)
        return f"{self.text(guard, item.names, function)}{opcode}{self.text(operands, item.names, function)}"


def _guarded(whole: str, words: str) -> tuple[str, str, str]:
    """Split an instruction's text: guard and space, opcode, operands. A register may be named like an opcode."""
    guard, blank, rest = whole.partition(" ")
    return f"{guard}{blank}", words, rest.removeprefix(words)
