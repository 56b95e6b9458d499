"""Instruction forms: rows spelt like the manual's syntax lines, each with the function that binds it.

`form("add{.rnd}{.ftz}{.sat}.f32", bind, rnd=ROUNDING)` answers for every `add` whose words fill the slots: a slot
`.name` takes one of the words given as `name=`, or the word itself if there is no such list; braces make it optional.
Modifiers may come in any order, as for ptxas; types may not (`cvt.u32.f32`: destination first). An instruction that
leaves a word over, or a slot empty, has no semantics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.plugins.rows import Semantics
from pyptx_sim.literals import parse_literal
from pyptx_sim.semantics.errors import NoSemantics
from pyptx_sim.types import is_type

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.operation import Operation

_SLOT = re.compile(r"(?P<brace>\{)?\.(?P<name>[A-Za-z0-9_:]+)(?(brace)\})")

# The rounding modifiers of arithmetic, and those of conversions to an integral value. Manual: "Rounding Modifiers".
ROUNDING = ("rn", "rz", "rm", "rp")
INTEGER_ROUNDING = ("rni", "rzi", "rmi", "rpi")


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of a form: its name, the words that fit, whether it may stay empty."""

    name: str
    words: frozenset[str]
    optional: bool


@dataclass(frozen=True, slots=True)
class Match:
    """An instruction read as a form: the word of each slot, empty where an optional one is absent."""

    words: Mapping[str, str]
    instruction: Instruction

    def __getitem__(self, slot: str) -> str:
        """Return the word that fills `slot`, or an empty string."""
        return self.words.get(slot, "")

    def __contains__(self, slot: str) -> bool:
        """Tell whether `slot` is filled."""
        return bool(self.words.get(slot))

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands, destinations first, not flattened."""
        return self.instruction.operands

    def refuse(self, reason: str) -> NoSemantics:
        """Return the error that says why this instruction cannot be simulated."""
        return NoSemantics(self.instruction, reason)

    def expect_operands(self, *counts: int) -> int:
        """Return how many operands there are; raise NoSemantics if that is none of `counts`."""
        count = len(self.instruction.operands)
        if count not in counts:
            raise self.refuse(f"{count} operands where {' or '.join(map(str, counts))} are due")
        return count

    def immediate(self, index: int) -> int | None:
        """Return the value of operand `index` if it is an integer literal, else None."""
        from pyptx_ir.syntax.operands import Immediate

        operand = self.instruction.operands[index]
        if not isinstance(operand, Immediate):
            return None
        value = parse_literal(operand.text)
        return value if isinstance(value, int) else None


Bind: TypeAlias = Callable[[Match], "Operation"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of one opcode. `opcode` is the leading words (`"add"`, `"cvt.pack"`)."""

    opcode: str
    slots: tuple[Slot, ...]
    bind: Bind
    spelling: str

    def fill(self, opcode: tuple[str, ...]) -> Mapping[str, str] | None:
        """Return the word of each slot for `opcode` read as this form, or None if it does not fit."""
        words = opcode[self.opcode.count(".") + 1 :]
        left = dict(enumerate(words))
        filled: dict[str, str] = {}
        types: list[int] = []
        for slot in self.slots:
            place = next((place for place, word in left.items() if word in slot.words), None)
            if place is not None:
                filled[slot.name] = left.pop(place)
                types += [place] if is_type(words[place]) else []
            elif not slot.optional:
                return None
        return None if left or types != sorted(types) else filled


def form(spelling: str, bind: Bind, **words: Iterable[str]) -> Form:
    """Return the form spelt like a syntax line of the manual: `form("mul.mode.type", bind, mode=…, type=…)`.

    The opcode is everything before the first slot; one of several words is joined with `+`: `"cvt+pack.sat.type.s32"`.
    """
    start = min(position for position in (spelling.find("."), spelling.find("{"), len(spelling)) if position >= 0)
    slots = tuple(
        Slot(found["name"], frozenset(words.get(found["name"], (found["name"],))), found["brace"] is not None)
        for found in _SLOT.finditer(spelling, start)
    )
    return Form(spelling[:start].replace("+", "."), slots, bind, spelling)


def rows(forms: Iterable[Form]) -> tuple[Semantics, ...]:
    """Return one semantics row for each opcode among `forms`; forms that come first are tried first."""
    by_opcode: dict[str, list[Form]] = {}
    for entry in forms:
        by_opcode.setdefault(entry.opcode, []).append(entry)
    return tuple(Semantics(opcode, _binder(tuple(group))) for opcode, group in by_opcode.items())


def _binder(group: tuple[Form, ...]) -> Callable[[Instruction], Operation]:
    @lru_cache(maxsize=512)
    def select(opcode: tuple[str, ...]) -> tuple[Form, Mapping[str, str]] | None:
        readings = ((entry, entry.fill(opcode)) for entry in group)
        return next(((entry, words) for entry, words in readings if words is not None), None)

    def bind(instruction: Instruction) -> Operation:
        selected = select(instruction.opcode)
        if selected is None:
            known = ", ".join(entry.spelling.replace("+", ".") for entry in group)
            raise NoSemantics(instruction, hint=f"forms that are simulated: {known}")
        chosen, words = selected
        return chosen.bind(Match(words, instruction))

    return bind
