"""Names visible at a statement, and the kind of each.

A function's parameters and the outermost level of its body are one scope; every `{ … }` inside is another. Names must
be declared before use, except labels. A label hides a register of an outer scope from the start of its block. Measured
on ptxas 13.5; manual: "Identifiers", "Parameterized Variable Names", "Labels and Function Names".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax.nodes import BranchTargets, CallPrototype, CallTargets, Label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax.nodes import Statement

# The kind of a name is a string: the type of a register (`"u32"`; of a vector register `"v4.b32"`; `""` if unknown),
# one of `.global .const .shared .local .param .label .func .entry .texref .samplerref .surfref .targets`, or one of
# the two constants below.
UNDECLARED = "?"
UNKNOWN = "!"  # kind of a name declared in text with a syntax error, or already reported as undeclared

_DIGITS = "0123456789"
_MOST_DIGITS = 18  # maximum number of trailing digits of a numbered name such as `%r12`
# Selectors of bytes or halves in operands of video instructions; each instruction's rows give its valid selectors.
_SELECTOR = re.compile(r"[bh][0-9]{1,4}")
_LISTS = (BranchTargets, CallTargets, CallPrototype)
TargetList: TypeAlias = BranchTargets | CallTargets | CallPrototype


@dataclass(frozen=True, slots=True)
class Storage:
    """A variable or parameter in memory: its state space, size in bytes (None: unknown), and alignment.

    `header` is whether it is in the function's own header, `input` whether it is an input parameter there; `type` is
    the element type.
    """

    space: str
    size: int | None
    alignment: int
    is_array: bool = False
    header: bool = False
    input: bool = False
    type: str = ""


class Scope(dict[str, str | None]):
    """Kind of each name visible in one scope; None for a special register.

    Names of outer scopes are copied at the first lookup, so that most lookups search one dictionary.
    """

    __slots__ = ("_indexed", "_numbers", "at", "labels", "lists", "outer", "ranges", "shapes", "storage")

    def __init__(self, outer: Scope | None = None) -> None:
        """Open a scope inside `outer`."""
        super().__init__()
        self.outer = outer
        self.at: dict[str, int] = {}
        self.ranges: dict[str, list[tuple[int, str, int]]] = {}
        self.storage: dict[str, Storage] = {}
        self.lists: dict[str, TargetList] = {}
        self.labels: frozenset[str] = frozenset()
        # Names in this scope such as `%r7`, by their stem `%r`; updated when numbered registers are declared.
        self._numbers: dict[str, list[tuple[int, str]]] = {}
        self._indexed = 0
        # `shape_number` of each operand, by the operand's `id`; valid while the names in the operand keep their kinds.
        self.shapes: dict[int, int] = {}

    def __missing__(self, name: str) -> str | None:
        """Look up a name among numbered registers, outer scopes, special registers and vector components."""
        found = split_number(name) if self.ranges else None
        banks = self.ranges.get(found[0], ()) if found else ()
        for count, kind, _ in banks:
            if found and found[1] < count:
                self[name] = kind
                return kind
        meant = self.outer[name] if self.outer is not None else _special(name)
        if meant == UNDECLARED and "." in name:
            meant = self._component(name)
        if meant != UNDECLARED:
            self[name] = meant
        return meant

    def declare(self, name: str, kind: str, at: int) -> int | None:
        """Declare a name at statement `at`; return the statement of its earlier declaration, if any."""
        before = self.at.get(name)
        if before is None and self.ranges:
            before = self._numbered_at(name)
        if self.get(name, kind) != kind:
            self.shapes.clear()
        self[name] = kind
        self.at[name] = at
        return before

    def declare_range(self, stem: str, count: int, kind: str, at: int) -> int | None:
        """Declare `stem0 … stem(count-1)` at statement `at`; return value as in `declare`."""
        earlier = self.ranges.setdefault(stem, [])
        if any(count <= other for other, _, _ in earlier):
            return earlier[0][2]
        known = self._known(stem, count)
        if known:
            self.shapes.clear()
        before = min((self.at[name] for name in known if name in self.at), default=None)
        if before is None and earlier:
            before = earlier[0][2]
        for name in known:
            if name not in self.at:
                self.pop(name, None)  # forget the outer scope's kind of a name that this scope declares anew
        self._indexed = len(self)
        earlier.append((count, kind, at))
        return before

    def expect_labels(self, body: Sequence[Statement]) -> None:
        """Declare the labels of a block before its statements are visited."""
        names = [
            node.name
            for node, following in zip_longest(body, body[1:])
            if isinstance(node, Label) and not isinstance(following, _LISTS)
        ]
        self.labels = frozenset(names)
        self.update(dict.fromkeys(names, ".label"))

    def storage_of(self, name: str) -> Storage | None:
        """Return the `Storage` of a variable or parameter by its name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.at or name in scope.storage:
                return scope.storage.get(name)
            scope = scope.outer
        return None

    def list_of(self, name: str) -> TargetList | None:
        """Return the prototype or the list of targets that has this label."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.at:
                return scope.lists.get(name)
            scope = scope.outer
        return None

    def range_of(self, stem: str) -> tuple[int, int] | None:
        """Return the count of the visible registers `stem0 …`, and the statement that declares them."""
        scope: Scope | None = self
        while scope is not None:
            if stem in scope.ranges:
                count, _, at = scope.ranges[stem][0]
                return count, at
            scope = scope.outer
        return None

    def visible(self) -> set[str]:
        """Return the names visible in this scope, except numbered ones."""
        names = {name for name, kind in self.items() if kind not in (UNDECLARED, UNKNOWN)}
        return names | self.outer.visible() if self.outer is not None else names

    def _known(self, stem: str, count: int) -> list[str]:
        """Return those names of `stem0 … stem(count-1)` that are already declared."""
        for name in islice(reversed(self), len(self) - self._indexed):
            found = split_number(name)
            if found is not None:
                self._numbers.setdefault(found[0], []).append((found[1], name))
        self._indexed = len(self)
        return [name for number, name in self._numbers.get(stem, ()) if number < count and name in self]

    def _numbered_at(self, name: str) -> int | None:
        found = split_number(name)
        ranges = self.ranges.get(found[0], ()) if found else ()
        return next((at for count, _, at in ranges if found and found[1] < count), None)

    def _component(self, name: str) -> str:
        """Return the type of a vector register's component, `v.x`, or "" for a byte or half of a register, `r.b0`."""
        base, _, selector = name.partition(".")
        kind = self[base]
        if kind == UNKNOWN:
            return UNKNOWN
        if kind is None or kind == UNDECLARED or kind.startswith("."):
            return UNDECLARED
        length, vector, element = kind.partition(".")
        if not vector:
            return "" if not kind or _SELECTOR.fullmatch(selector) else UNDECLARED
        return element if selector in components(int(length[1:])) else UNDECLARED


def components(length: int) -> tuple[str, ...]:
    """Return the component names of a vector register. Manual: "Vectors as Operands"."""
    return (*"xyzw"[:length], *"rgba"[:length])


def _special(name: str) -> str | None:
    return None if is_special(name) else UNDECLARED


def is_special(name: str) -> bool:
    """Return whether a special register of any PTX version and target has this name."""
    known = special_registers()
    return name in known or f"{name}.x" in known  # the rows for the vector %tid are those of its components, %tid.x, …


@lru_cache(maxsize=1 << 16)  # cached, because different functions use the same register names
def split_number(name: str) -> tuple[str, int] | None:
    """Split a name into stem and number, as ptxas does: all trailing digits are the number, `%r012` is `%r12`."""
    stem = name.rstrip(_DIGITS)
    digits = len(name) - len(stem)
    return (stem, int(name[-digits:])) if 0 < digits <= _MOST_DIGITS else None
