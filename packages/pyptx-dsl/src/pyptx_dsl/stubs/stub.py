"""Writing the stub: a class for each state of the graph, in it a member for each word that can follow.

A word behind which nothing can follow is a method; others that lead to the same state are further names of that method,
so that what there is to say of it is said once. Any other word is an attribute: of a class that is callable if the
instruction may end here.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.automaton import State, spellings
from pyptx_dsl.naming import to_python
from pyptx_dsl.stubs.signatures import WIDER, Signature, signatures
from pyptx_ir.isa.reference.entries import entries
from pyptx_ir.isa.reference.wording import availability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyptx_ir.isa.patterns import Pattern
    from pyptx_ir.isa.rows import InstructionRow

# How many forms a docstring shows, of an instruction and at a later word; the reference page has all.
SHOWN = 3
SHOWN_AT_WORD = 2
LONGEST = 32  # characters of a class's name that is made of all words

HEAD = '''# ruff: noqa: A002, D205, D400, D415, E501, N801, N802, N803, N815, PYI021
# fmt: off
"""What a type checker and an editor see of `ptx.inst`.

{marker}

An attribute is a word of an instruction, in the order of the manual's syntax lines; a call emits the instruction. ptxas
takes most modifiers in any order, and `ptx.inst["add.sat.rn.f32"]` spells what is not here.
"""

from collections.abc import Sequence
from types import EllipsisType
from typing import SupportsFloat, SupportsIndex, TypeAlias, overload

from pyptx_dsl.instructions.dotted import Inst
from pyptx_dsl.registers.operands import PipeRef, PtxValue
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_ir.syntax.operands import Operand

# What an operand may be; the table in `pyptx_dsl.registers.operands` says how each is spelt.
Name: TypeAlias = PtxValue | Operand | str
Constant: TypeAlias = SupportsIndex | Operand | str
Value: TypeAlias = PtxValue | Operand | str | SupportsIndex | SupportsFloat
Values: TypeAlias = Sequence[Value] | RegArray | Operand
TwoResults: TypeAlias = PipeRef | Operand | str
NoResult: TypeAlias = Operand | str
Result: TypeAlias = Reg | EllipsisType
Guard: TypeAlias = Reg | None

'''
FOOT = '''
inst: Instructions
"""Any instruction, spelt with dots as the manual spells it: `ptx.inst.mad.lo.u32(d, a, b, c)`."""
'''
ROOT = "Instructions"
_RESULTS = frozenset(("Reg | TwoResults", "Reg | NoResult"))


@dataclass(frozen=True, slots=True)
class Stub:
    """What the writer looks up: the sentence for each instruction, and the name of each state's class."""

    summaries: Mapping[str, str]
    classes: Mapping[int, str]

    def class_of(self, state: State) -> str:
        """Return the name of the class of a state."""
        return self.classes[id(state)]


def write_stub(rows: Iterable[InstructionRow], marker: str) -> str:
    """Return the text of the stub for these rows; `marker` says where it comes from."""
    rows = tuple(rows)
    root = spellings(rows)
    states = tuple(_states(root))
    stub = Stub({entry.name: entry.summary for entry in entries(rows)}, _class_names(root))
    classes = ["\n".join(_class(stub, state)) for state in states]
    return HEAD.replace("{marker}", marker) + "\n".join(classes) + "\n" + FOOT


def _states(root: State) -> Iterator[State]:
    """Yield every state that has a class, by the alphabet of their first spellings."""
    found: dict[int, State] = {}
    pending = [root]
    while pending:
        state = pending.pop()
        if id(state) not in found and state.following:
            found[id(state)] = state
            pending += state.following.values()
    yield from sorted(found.values(), key=lambda state: state.spelling)


def _class_names(root: State) -> dict[int, str]:
    """Return the name of each state's class, by the state's identity: the words that lead to it first, `Mad_lo`.

    Where several words lead from one state to the same one, the slot that they fill stands for them, as in the manual's
    syntax line: `Fma_rnd_ftz`. Of many words, the instruction's and the last. Names that come again are numbered.
    """
    names = {id(root): ROOT}
    taken: set[str] = set()

    def visit(state: State, prefix: str) -> None:
        for word, following in state.following.items():
            if id(following) in names or not following.following:
                continue
            token = _identifier(_token(state, word, following))
            whole = f"{prefix}{token}"
            name = whole if len(whole) <= LONGEST else f"{_identifier(following.ahead[0].row.instruction)}_{token}"
            name = _capitalized(name)
            numbered = (f"{name}_{number}" for number in itertools.count(2))
            chosen = name if name not in taken else next(each for each in numbered if each not in taken)
            taken.add(chosen)
            names[id(following)] = chosen
            visit(following, f"{whole}_")

    visit(root, "")
    return names


def _identifier(words: str) -> str:
    return re.sub(r"\W+", "_", words)


def _capitalized(name: str) -> str:
    return name[0].upper() + name[1:]


def _token(state: State, word: str, following: State) -> str:
    """Return the word that leads from `state` to `following`, or the name of its slot if others lead there too."""
    if not state.spelling or sum(each is following for each in state.following.values()) == 1:
        return word
    return state.slots[word]


def _class(stub: Stub, state: State) -> Iterator[str]:
    yield f"class {stub.class_of(state)}:"
    if state.accepted:
        yield from _calls(stub, state)
    if not state.spelling:
        yield "    def __getitem__(self, spelling: str, /) -> Inst:"
        yield '        """Spell an instruction as text, checked when it is called: `ptx.inst["add.f32.rn"]`."""'
    methods: dict[int, str] = {}
    for word, following in state.following.items():
        name = to_python(word)
        if following.following:
            yield f"    {name}: {stub.class_of(following)}"
            text = _documentation(stub, state, following)
            if text:
                yield _docstring(text, "    ")
        elif id(following) in methods:
            yield f"    {name} = {methods[id(following)]}"
        else:
            methods[id(following)] = name
            yield from _calls(stub, following, name)


def _calls(stub: Stub, state: State, name: str = "__call__") -> Iterator[str]:
    """Yield the method that emits an instruction, overloaded if the forms differ in their operands."""
    ways = signatures(state.accepted)
    # A register fits wherever an address or a value does: then what is returned can't depend on which of them is meant.
    alike = len(ways) > 1 and any("Name" in (way[0].type, *WIDER.get(way[0].type, ())) for way in ways if way)
    ways = ways if alike else tuple(one for way in ways for one in _by_result(way))
    text = _documentation_of_forms(stub, _accepted(state), SHOWN_AT_WORD)
    for way in ways:
        if len(ways) > 1:
            yield "    @overload"
        result = "Reg | None" if alike else "Reg" if way and way[0].type == "Reg" else "None"
        yield f"    def {name}(self, {_parameters(way)}pred: Guard = None) -> {result}:"
        yield _docstring(text, "        ")
        text = "As above, with other operands."


def _parameters(way: Signature) -> str:
    if not way:
        return "*, "
    types = [way[0].type.replace("Reg", "Result", 1), *(each.type for each in way[1:])]
    spelt = [f"{each.name}: {of}{' = ...' if each.optional else ''}" for each, of in zip(way, types, strict=True)]
    return f"{', '.join(spelt)}, /, *, "


def _by_result(way: Signature) -> Iterator[Signature]:
    """Yield the call with a register as its result, which it returns, and the one with what else may stand there."""
    if way and way[0].type in _RESULTS:
        yield from ((replace(way[0], type=kind), *way[1:]) for kind in way[0].type.split(" | "))
    else:
        yield way


def _accepted(state: State) -> tuple[Pattern, ...]:
    return tuple(dict.fromkeys(thread.pattern for thread in state.accepted))


def _documentation(stub: Stub, state: State, following: State) -> str:
    """Return what to say of a word: where it completes an instruction, or tells several apart."""
    if following.accepted and _accepted(following) == _accepted(state):
        return " ".join(stub.summaries[name] for name in _names(_accepted(following)))
    if following.accepted:
        return _documentation_of_forms(stub, _accepted(following), SHOWN_AT_WORD)
    names = _names(following.ahead)
    if len(names) == 1:
        told_before = state.spelling and names == _names(state.ahead)
        return "" if told_before else _documentation_of_forms(stub, following.ahead)
    return "\n".join(f"- `{name}`: {stub.summaries[name]}" for name in names)


def _names(patterns: Iterable[Pattern]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(pattern.row.instruction for pattern in patterns))


def _documentation_of_forms(stub: Stub, patterns: tuple[Pattern, ...], shown: int = SHOWN) -> str:
    """Return the summaries, then the syntax lines with versions and targets: the oldest and shortest first."""
    patterns = tuple(sorted(patterns, key=lambda each: (each.row.since, len(each.row.syntax), each.row.name)))
    parts = [stub.summaries[name] for name in _names(patterns) if stub.summaries[name]]
    lines = list(dict.fromkeys(f"- `{each.row.syntax}` ({availability(each.row)})" for each in patterns))
    if len(lines) > shown:
        lines[shown:] = [f"- and {len(lines) - shown} more forms"]
    return "\n".join([*parts, *lines])


def _docstring(text: str, indent: str) -> str:
    quoted = f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'
    return textwrap.indent(quoted, indent)
