"""Rows of the instruction table as a call selects them: types in order, and modifiers as keywords.

The rows define the modifiers. This module only lists keywords whose names differ from those in the rows' syntax lines:
`.rnd` is `rounding="rz"`, `.NaN` is `nan=True`. Any other modifier slot is a keyword with one of its modifiers as the
value, and any other modifier a flag of the same name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.isa.check import patterns_of
from pyptx_ir.isa.matching import match_modifiers, places_taken
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.isa.scalar_types import TYPES, is_bits
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_ir.isa.patterns import ModifierSlot
    from pyptx_ir.isa.rows import InstructionRow

__all__ = [
    "FormPart",
    "RowForm",
    "WordChoice",
    "choices_of",
    "forms_of",
    "in_order",
    "keywords_in",
    "row_form",
    "types_in",
    "untyped",
]

WordChoice: TypeAlias = "Mapping[str, str | bool]"
"""Keyword -> its value in a call: a modifier, or True for a flag."""

_NAMED = {
    "rounding": "rnd frnd irnd frnd2 frnd3 frnd4 rn rz rm rp rna rs",
    "mode": (
        "hi lo wide tile tile::gather4 tile::scatter4 im2col im2col::w im2col::w::128 im2col_no_offs im2col_no_offs::w"
    ),
    "cmp_op": "cmp",
    "combine": "boolop",
    "sem": "order weak volatile relaxed acquire release acq_rel sc",
    "scope": "near cta cluster gpu sys",
    "space": "ss global shared shared::cta shared::cluster local const param",
    "op": "add inc dec min max exch cas",
    "bit_op": "and xor",
    "cache": "cop",
    "evict_l1": "level1",
    "evict_l2": "level2 L2::evict_normal L2::evict_last",
    "restrict": (
        "sync_restrict::shared::cluster sync_restrict::shared::cta sync_restrict::shared::cluster::read"
        " sync_restrict::read sync_restrict::proxy::async"
    ),
    "report": "disabled",
    "phases": "phase_type::primary phase_type::conditional",
    "multicast": ("multicast::cluster multicast::cluster::16b multicast::cluster::32b multicast::cluster::all"),
    "kind": "kind::f8f6f4 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4",
    "scale_vec": "scale_vec::1X scale_vec::2X scale_vec::4X",
    "acc": "acc::f16 acc::f32",
    "vec": "v2 v4 v8",
    "layout": "num layout::v0 layout::v1",
    "level": "L1 L2 L1::32B",
    "field": "elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode",
    "a_layout": "row alayout",
    "b_layout": "col blayout",
}
"""Keyword that takes a modifier -> the modifier slots (`.rnd`) and modifiers of syntax lines that the keyword sets.

A modifier needs no entry if another row of the instruction differs only by a modifier slot at the same position.
"""

_CHOICES = {name: keyword for keyword, names in _NAMED.items() for name in names.split()}

_FLAGS = {
    "NaN": "nan",
    "xorsign": "xorsign_abs",
    "hint": "cache_hint",
    "sp::ordered_metadata": "ordered",
    "force_unnormalized_coords": "force_unnormalized_coords",
}
"""Modifier -> keyword of its flag, if the two names differ, or if another row has a modifier slot in its place."""

_PREFIXES = {
    "evict_l1": "L1::",
    "evict_l2": "L2::",
    "prefetch": "L2::",
    "primary": "L2::",
    "secondary": "L2::",
    "restrict": "sync_restrict::",
    "report": "mbarrier::report::",
    "phases": "phase_type::",
    "layout": "layout::",
    "kind": "kind::",
    "scale_vec": "scale_vec::",
    "acc": "acc::",
    "group": "cta_group::",
    "multicast": "multicast::",
    "scaled": "",
}
"""Keyword -> prefix that calls omit from the keyword's PTX modifiers; a prefix equal to the keyword needs no entry."""

_SECOND = {"space": "source_space"}
"""Keyword -> keyword for a second modifier slot with the first keyword in a syntax line, such as a state space."""

_SHAPE = re.compile(r"m\d+n\d+(k\d+)?")

_OWN = frozenset({"sem"})
"""Keywords that a call must specify even if only one modifier is possible: memory ordering is never implicit."""

_DEFAULTS = ("rn", "lo", "clamp")
"""Modifiers emitted by default if an instruction requires one of several modifiers and a call specifies none."""


@dataclass(frozen=True, slots=True)
class FormPart:
    """One item of a syntax line: a type (`keyword` is empty), one modifier of several, or a flag.

    `words` are the permitted modifiers as in calls, without the `prefix`. Items of one optional `group` are present
    together or absent together.
    """

    keyword: str
    words: tuple[str, ...]
    flag: bool
    optional: bool
    group: int
    prefix: str = ""

    @property
    def default(self) -> str:
        """The modifier that is emitted if a call specifies none."""
        return next((word for word in _DEFAULTS if word in self.words), self.words[0])

    @property
    def open(self) -> bool:
        """Whether a call must specify the modifier: a memory order, or one of several modifiers without a default."""
        several = len(self.words) > 1 and self.default not in _DEFAULTS
        return self.keyword in _OWN or (bool(self.keyword) and several)


@dataclass(frozen=True, slots=True, eq=False)
class RowForm:
    """An instruction table row as calls select it by keywords; `head` is the opcode prefix of the called function.

    There is one instance for each row and head, so caches compare instances by identity.
    """

    row: InstructionRow
    head: tuple[str, ...]
    parts: tuple[FormPart, ...]

    @property
    def syntax(self) -> str:
        """The syntax line of the instruction table row."""
        return self.row.syntax

    @property
    def types(self) -> tuple[tuple[str, ...], ...]:
        """The permitted type modifiers at each type of the syntax line, in order."""
        return tuple(part.words for part in self.parts if not part.keyword)

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords that a call can specify for this instruction table row."""
        return tuple(dict.fromkeys(part.keyword for part in self.parts if part.keyword))

    def choices(self, keyword: str) -> tuple[str, ...]:
        """Return the values that the instruction table row accepts for a keyword; empty for a flag."""
        return tuple(word for part in self.parts if part.keyword == keyword and not part.flag for word in part.words)

    def length(self, keyword: str, word: str) -> int:
        """Return the number of registers for a keyword's value, from `lengths` of the table row: 4 for `x4`."""
        lengths = next(each for name, each in self.row.lengths if _CHOICES.get(name, name) == keyword)
        return lengths[self.choices(keyword).index(word)]

    def has_types(self, types: tuple[str, ...] | None) -> bool:
        """Return whether the table row permits these types, in order; for None, whether all its types are fixed."""
        places = self.types
        if types is None:
            return all(len(words) == 1 for words in places)
        return len(types) == len(places) and all(word in words for word, words in zip(types, places, strict=True))

    def takes(self, given: WordChoice) -> bool:
        """Return whether the instruction table row accepts each keyword with its value in the call."""
        return all(
            value in choices if (choices := self.choices(keyword)) else not isinstance(value, str)
            for keyword, value in given.items()
        )

    def unasked(self, given: WordChoice) -> tuple[FormPart, ...]:
        """Return modifiers of the row's syntax line that are emitted although no keyword of the call requests them."""
        groups = self._groups(given)
        return tuple(
            part
            for part in self.parts
            if part.keyword and part.keyword not in given and (not part.optional or part.group in groups)
        )

    def _groups(self, given: WordChoice) -> set[int]:
        """Return the numbers of the row's optional modifier groups from which a call requests a modifier."""
        return {part.group for part in self.parts if part.optional and part.keyword in given}

    def surplus(self, given: WordChoice) -> tuple[int, int]:
        """Return two counts of unrequested modifiers: with only one permitted value, and emitted by default."""
        unasked = self.unasked(given)
        usual = sum((not part.flag and part.default in _DEFAULTS) or len(part.words) > 1 for part in unasked)
        return len(unasked) - usual, usual

    def words(self, types: tuple[str, ...] | None, given: WordChoice) -> tuple[str, ...]:
        """Return the opcode with types and requested modifiers, in the order of the syntax line."""
        return (*self.head, *self._words(iter(types or [words[0] for words in self.types]), given))

    def _words(self, types: Iterator[str], given: WordChoice) -> Iterator[str]:
        groups = self._groups(given)
        for part in self.parts:
            asked = given.get(part.keyword)
            if not part.keyword:
                yield next(types)
            elif isinstance(asked, str):
                yield part.prefix + asked
            elif asked or not part.optional or part.group in groups:
                yield part.prefix + part.default


@until_plugins_change()
def row_form(row: InstructionRow, head: tuple[str, ...] = ()) -> RowForm | None:
    """Return the RowForm of an instruction table row with the opcode prefix `head`; None for another prefix."""
    items, fixed = compile_row(row).items, head[1:]
    begins = len(fixed) <= len(items) and all(word in item.words for word, item in zip(fixed, items, strict=False))
    return RowForm(row, head or (row.opcode,), _parts(row)[len(fixed) :]) if begins else None


@until_plugins_change()
def forms_of(head: str) -> tuple[RowForm, ...]:
    """Return the RowForm of each instruction table row with the opcode prefix `head`, such as `"cp.async.bulk"`."""
    words = tuple(head.split("."))
    forms = (row_form(pattern.row, words) for pattern in patterns_of(words[0]))
    return tuple(form for form in forms if form is not None)


@until_plugins_change()
def _parts(row: InstructionRow) -> tuple[FormPart, ...]:
    return tuple(_part(keyword, item, row) for keyword, item in _named(row))


@until_plugins_change()
def _lines(opcode: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return an opcode's syntax lines in the instruction table, and their modifier slots that `_NAMED` lacks."""
    rows = [pattern.row for pattern in patterns_of(opcode)]
    slots = {name for row in rows for name, words in row.slots if name not in _CHOICES and not TYPES.issuperset(words)}
    return frozenset(row.syntax for row in rows), tuple(sorted(slots))


def _slot_at(word: str, row: InstructionRow) -> str | None:
    """Return the modifier slot that an otherwise equal instruction table row has in place of a modifier, or None."""
    lines, slots = _lines(row.opcode)
    if word in _FLAGS or word in slots:
        return None
    return next((slot for slot in slots if row.syntax.replace(f".{word}", f".{slot}", 1) in lines), None)


def _named(row: InstructionRow) -> Iterator[tuple[str, ModifierSlot]]:
    """Yield each modifier slot of a row's syntax line, with its keyword, which is empty for a type."""
    before, known = "", set[str]()
    for item in compile_row(row).items:
        before = "" if item.words <= TYPES else _keyword(item.name, row, before)
        if before in known:
            before = _SECOND.get(before, before)
        known.add(before)
        yield before, item


def _keyword(name: str, row: InstructionRow, before: str) -> str:
    if name == "abs" and before == "xorsign_abs":
        return before
    if _SHAPE.fullmatch(name):
        return "shape"
    return _CHOICES.get(name) or _FLAGS.get(name) or _slot_at(name, row) or name.replace("::", "_")


def _part(keyword: str, item: ModifierSlot, row: InstructionRow) -> FormPart:
    slots = dict(row.slots)
    words = slots.get(item.name, (item.name,))
    word = item.name in slots and item.name not in _FLAGS
    flag = bool(keyword) and not (word or item.name in _CHOICES or keyword in {"shape", _slot_at(item.name, row)})
    prefix = _prefix(keyword, words)
    bare = tuple(each.removeprefix(prefix) for each in words)
    return FormPart(keyword, bare, flag, item.optional, item.group, prefix)


def _prefix(keyword: str, words: tuple[str, ...]) -> str:
    """Return the prefix (`L2::`) that calls omit from a keyword's modifiers; empty unless all its modifiers have it."""
    known = _PREFIXES.get(keyword)
    found = (f"{keyword}::", f"{keyword.replace('_', '::')}::") if known is None else (known,)
    return next((prefix for prefix in found if keyword and all(each.startswith(prefix) for each in words)), "")


def types_in(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types among the modifiers of an opcode, in order."""
    return tuple(word for word in words if word in TYPES)


def keywords_in(row: InstructionRow, words: tuple[str, ...]) -> dict[str, str | bool] | None:
    """Return modifiers, in any order, as keywords for an instruction table row; None if they do not match the row."""
    pattern = compile_row(row)
    filled = match_modifiers(pattern, words)
    if filled is None:
        return None
    return {
        part.keyword: True if part.flag else filled[item.name].removeprefix(part.prefix)
        for part, item in zip(_parts(row), pattern.items, strict=True)
        if part.keyword and item.name in filled
    }


@until_plugins_change(maxsize=4096)
def in_order(opcode: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return an opcode with its modifiers in the order of the first row that has them all; None if no row does."""
    for pattern in patterns_of(opcode[0]):
        taken = places_taken(pattern, opcode[1:])
        if taken is not None:
            return (opcode[0], *(word for _, word in sorted(zip(taken, opcode[1:], strict=True))))
    return None


@until_plugins_change()
def choices_of(head: str, keyword: str) -> tuple[str, ...]:
    """Return the values that at least one instruction table row with opcode prefix `head` accepts for a keyword."""
    return tuple(dict.fromkeys(word for form in forms_of(head) for word in form.choices(keyword)))


def untyped(forms: tuple[RowForm, ...]) -> bool:
    """Return whether the instruction forms have types, and all these types are untyped bits or predicates."""
    words = {word for form in forms for words in form.types for word in words}
    return bool(words) and all(is_bits(word) or word == "pred" for word in words)
