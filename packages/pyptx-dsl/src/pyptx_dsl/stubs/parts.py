"""Which stub has what: the instructions of each package stand in a stub of its own.

Where forms of several packages begin with the same words, `cp` or `mma.sync`, the class of these words is the first
package's, in the order in which they are given. It imports what other packages have behind them by name: without such
a package, that one member is unknown, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.automaton import State, spellings
from pyptx_ir.plugins.homes import HOMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyptx_ir.isa.rows import InstructionRow

Words = tuple[str, ...]

CORE = "pyptx_dsl.instructions.instruction_set"
"""The stub of the core, and of plugins that lie in no package."""

_OF_CORE = frozenset(("", "pyptx_dsl", "pyptx_ir"))
_ORDER = {home.module: number for number, home in enumerate(HOMES)}


@dataclass(frozen=True, slots=True)
class Part:
    """What one stub has.

    `rows` are its own forms, `known` those of the stubs before it and its own. `root` is the state in front of its
    forms; its classes begin at the spellings `entries`. `imported` is, by the identity of a state, what other stubs
    have behind it: spellings, by module.
    """

    module: str
    rows: tuple[InstructionRow, ...]
    known: tuple[InstructionRow, ...]
    root: State
    entries: tuple[Words, ...]
    imported: Mapping[int, Mapping[str, tuple[Words, ...]]]

    def state(self, words: Words) -> State:
        """Return the state behind a spelling."""
        state = self.root
        for word in words:
            state = state.following[word]
        return state


def stub_of(package: str) -> str:
    """Return the name of the stub in which the instructions of a package stand."""
    return CORE if package in _OF_CORE else f"{package}.ptx.instruction_set"


def file_of(module: str) -> Path:
    """Return where the stub of this name lies, in a folder of packages."""
    return Path(*module.split(".")).with_suffix(".pyi")


def by_stub(rows: Mapping[str, Iterable[InstructionRow]]) -> dict[str, tuple[InstructionRow, ...]]:
    """Return the rows of packages by stub: the core's first, then this project's, then those of third parties."""
    found: dict[str, tuple[InstructionRow, ...]] = {CORE: ()}
    for package in sorted(rows, key=lambda name: (_ORDER.get(name, len(_ORDER)), name)):
        module = stub_of(package)
        found[module] = (*found.get(module, ()), *rows[package])
    return found


def parts(rows: Mapping[str, tuple[InstructionRow, ...]]) -> Iterator[Part]:
    """Yield what each stub has, in the order of the stubs; the first one has the root of all instructions."""
    rows, roots = _settled(rows)
    first = next(iter(rows))
    borders = tuple(_borders(roots))
    known: tuple[InstructionRow, ...] = ()
    for module, own in rows.items():
        entries = tuple(words for words, _, other in borders if other == module) if module != first else ((),)
        known = (*known, *own)
        imported: dict[int, Mapping[str, tuple[Words, ...]]] = {}
        root = _split(roots[module], {words: other for words, owner, other in borders if owner == module}, imported)
        yield Part(module, own, known, root, entries, imported)


def _settled(
    rows: Mapping[str, tuple[InstructionRow, ...]],
) -> tuple[Mapping[str, tuple[InstructionRow, ...]], Mapping[str, State]]:
    """Return the rows, and the state in front of each stub's, where no callable has forms of two stubs.

    A form that ends at words of an earlier stub is counted as that one's: overloads of a method stand in one place.
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
    """Yield each spelling with which forms of several stubs begin, and their states behind it by module."""
    if len(states) == 1:
        return
    yield words, states
    for word in _words_behind(states):
        behind = {module: state.following[word] for module, state in states.items() if word in state.following}
        yield from _meetings(behind, (*words, word))


def _words_behind(states: Mapping[str, State]) -> list[str]:
    return sorted({word for state in states.values() for word in state.following})


def _ending_elsewhere(roots: Mapping[str, State]) -> Iterator[tuple[InstructionRow, str]]:
    """Yield each row with a form that ends where an earlier stub has a class, and that stub's module."""
    for _, states in _meetings(roots):
        owner, *others = states
        for module in others:
            yield from ((thread.pattern.row, owner) for thread in states[module].accepted)


def _borders(roots: Mapping[str, State]) -> Iterator[tuple[Words, str, str]]:
    """Yield each spelling whose last word leads from a class of one stub into another: with both modules."""
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
    """Return the state with a class of its own for each spelling that other stubs' words follow, noted in `imported`.

    So the classes depend on which words other stubs have there, and not on what follows these.
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
