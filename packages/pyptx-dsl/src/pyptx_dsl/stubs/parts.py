"""Assignment of instructions to type stubs: each package has a stub for its own instructions.

If instructions of several packages share an opcode prefix, such as `cp` or `mma.sync`, the stub of the first of these
packages has the prefix's class. That class imports the classes of longer prefixes from the stubs of the other packages.
If such a package is not installed, type checkers do not know the members that its stub defines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.forms.automaton import State, spellings
from pyptx_ir.plugins.homes import HOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyptx_ir.isa.rows import InstructionRow

Words = tuple[str, ...]

CORE = "pyptx_dsl.instructions.instruction_set"
"""Module name of the type stub for the instructions of pyptx-dsl and pyptx-ir, and of plugins outside any package."""

_OF_CORE = frozenset(("", "pyptx_dsl", "pyptx_ir"))
_ORDER = {home.module: number for number, home in enumerate(HOMES)}


@dataclass(frozen=True, slots=True)
class StubContents:
    """Instructions and classes of one type stub.

    `rows` are the instruction table rows of the stub, `known` also those of earlier stubs. `root` is the automaton's
    start state; `entries` are the opcode prefixes at which classes of other stubs continue in this stub. `imported`
    maps the `id` of a state to the longer prefixes, by module, whose classes are in other stubs.
    """

    module: str
    rows: tuple[InstructionRow, ...]
    known: tuple[InstructionRow, ...]
    root: State
    entries: tuple[Words, ...]
    imported: Mapping[int, Mapping[str, tuple[Words, ...]]]

    def state(self, words: Words) -> State:
        """Return the automaton state after an opcode prefix."""
        state = self.root
        for word in words:
            state = state.following[word]
        return state


def stub_of(package: str) -> str:
    """Return the name of the stub for the instructions of a package."""
    return CORE if package in _OF_CORE else f"{package}.ptx.instruction_set"


def file_of(module: str) -> Path:
    """Return the path of a stub module, relative to the folder that contains the packages."""
    return Path(*module.split(".")).with_suffix(".pyi")


def by_stub(rows: Mapping[str, Iterable[InstructionRow]]) -> dict[str, tuple[InstructionRow, ...]]:
    """Return instruction table rows by stub: pyptx-dsl's, then those of this project's packages, then third parties."""
    found: dict[str, tuple[InstructionRow, ...]] = {CORE: ()}
    for package in sorted(rows, key=lambda name: (_ORDER.get(name, len(_ORDER)), name)):
        module = stub_of(package)
        found[module] = (*found.get(module, ()), *rows[package])
    return found


def parts(rows: Mapping[str, tuple[InstructionRow, ...]]) -> Iterator[StubContents]:
    """Yield the contents of each stub, in the order of the stubs; the first stub starts at the empty opcode prefix."""
    rows, roots = _settled(rows)
    first = next(iter(rows))
    borders = tuple(_borders(roots))
    known: tuple[InstructionRow, ...] = ()
    for module, own in rows.items():
        entries = tuple(words for words, _, other in borders if other == module) if module != first else ((),)
        known = (*known, *own)
        imported: dict[int, Mapping[str, tuple[Words, ...]]] = {}
        root = _split(roots[module], {words: other for words, owner, other in borders if owner == module}, imported)
        yield StubContents(module, own, known, root, entries, imported)


def _settled(
    rows: Mapping[str, tuple[InstructionRow, ...]],
) -> tuple[Mapping[str, tuple[InstructionRow, ...]], Mapping[str, State]]:
    """Return instruction table rows and automaton start states by stub; no method has overloads in two stubs.

    A row whose opcode ends at a class of an earlier stub is moved to that stub: overloads of a method must be in one
    file.
    """
    roots = {module: spellings(own) for module, own in rows.items()}
    moved = dict(_ending_elsewhere(roots))
    if not moved:
        return rows, roots
    return _settled(
        {
            module: (*(row for row in own if row not in moved), *(row for row, to in moved.items() if to == module))
            for module, own in rows.items()
        }
    )


def _meetings(states: Mapping[str, State], words: Words = ()) -> Iterator[tuple[Words, Mapping[str, State]]]:
    """Yield each opcode prefix that several stubs share, and the automaton states after the prefix by stub."""
    if len(states) == 1:
        return
    yield words, states
    for word in _words_behind(states):
        behind = {module: state.following[word] for module, state in states.items() if word in state.following}
        yield from _meetings(behind, (*words, word))


def _words_behind(states: Mapping[str, State]) -> list[str]:
    return sorted({word for state in states.values() for word in state.following})


def _ending_elsewhere(roots: Mapping[str, State]) -> Iterator[tuple[InstructionRow, str]]:
    """Yield each instruction table row whose opcode ends at a class of an earlier stub, and that stub's module."""
    for _, states in _meetings(roots):
        owner, *others = states
        for module in others:
            yield from ((thread.pattern.row, owner) for thread in states[module].accepted)


def _borders(roots: Mapping[str, State]) -> Iterator[tuple[Words, str, str]]:
    """Yield each opcode prefix at which another stub continues a class of one stub, with the modules of both."""
    for words, states in _meetings(roots):
        owner = next(iter(states))
        for word in _words_behind(states):
            behind = next(module for module, state in states.items() if word in state.following)
            if behind != owner:
                yield (*words, word), owner, behind


def _split(
    state: State,
    behind: Mapping[Words, str],
    imported: dict[int, Mapping[str, tuple[Words, ...]]],
    words: Words = (),
) -> State:
    """Return an automaton state with a class of its own for each opcode prefix that other stubs continue.

    The classes thus depend on the next token in other stubs, not on the tokens after it. The longer prefixes in other
    stubs are added to `imported`.
    """
    inside = [longer for longer in behind if longer[: len(words)] == words]
    if not inside:
        return state
    next_to = [longer for longer in inside if longer[:-1] == words]
    modules = sorted({behind[longer] for longer in next_to})
    following = {word: _split(then, behind, imported, (*words, word)) for word, then in state.following.items()}
    split = replace(state, spelling=words, following=following)
    imported[id(split)] = {
        module: tuple(longer for longer in next_to if behind[longer] == module) for module in modules
    }
    return split
