"""What `dir` shows of `ptx` and below it: names of plugins, and words of instructions, from the table's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.naming import to_python
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_dsl.instructions.automaton import State

__all__ = ["following", "provided"]


def following(words: tuple[str, ...]) -> list[str]:
    """Return the attributes that can follow the words of an instruction; without any, all opcodes."""
    from pyptx_ir.plugins.manager import manager

    if not words:
        return sorted({to_python(row.opcode) for row in manager().instructions()})
    return list(_following(words))


@until_plugins_change(maxsize=1024)
def _following(words: tuple[str, ...]) -> tuple[str, ...]:
    from pyptx_dsl.instructions.automaton import spellings
    from pyptx_ir.isa.check import patterns_of
    from pyptx_ir.plugins.manager import manager

    state: State | None = spellings(manager().instructions_of(words[0]))
    for word in words:
        state = None if state is None else state.following.get(word)
    if state is not None:
        return tuple(sorted(to_python(word) for word in state.following))
    # In another order than the manual's: whatever the rows with these words have besides.
    rows = [row for row in patterns_of(words[0]) if row.vocabulary.issuperset(words[1:])]
    return tuple(sorted({to_python(word) for row in rows for word in row.vocabulary if word not in words}))


def provided(parent: str = "") -> list[str]:
    """Return the names that plugins have put into `ptx`, or into `ptx.<parent>`."""
    from pyptx_ir.plugins.errors import PluginError
    from pyptx_ir.plugins.manager import manager

    try:
        names = list(manager().namespaces())
    except PluginError:  # told where a name of that plugin is asked for; a list of names is not the place
        return []
    prefix = f"{parent}." if parent else ""
    inside = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return sorted({name for name in inside if "." not in name})
