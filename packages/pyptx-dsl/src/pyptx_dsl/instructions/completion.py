"""Attributes that `dir` lists for `ptx` and its namespaces: names that plugins add, and modifiers of opcodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.naming import to_python
from pyptx_ir.plugins.caches import until_plugins_change

if TYPE_CHECKING:
    from pyptx_dsl.instructions.forms.automaton import State

__all__ = ["following", "provided"]


def following(words: tuple[str, ...]) -> list[str]:
    """Return the attributes that can follow an opcode prefix in `ptx.inst`; without a prefix, all opcodes."""
    from pyptx_ir.plugins.manager import manager

    if not words:
        return sorted({to_python(row.opcode) for row in manager().instructions()})
    return list(_following(words))


@until_plugins_change(maxsize=1024)
def _following(words: tuple[str, ...]) -> tuple[str, ...]:
    from pyptx_dsl.instructions.forms.automaton import spellings
    from pyptx_ir.isa.check import patterns_of
    from pyptx_ir.plugins.manager import manager

    state: State | None = spellings(manager().instructions_of(words[0]))
    for word in words:
        state = None if state is None else state.following.get(word)
    if state is not None:
        return tuple(sorted(to_python(word) for word in state.following))
    # Modifiers out of the manual's order: return the other modifiers of each instruction table row that has them all.
    rows = [row for row in patterns_of(words[0]) if row.vocabulary.issuperset(words[1:])]
    return tuple(sorted({to_python(word) for row in rows for word in row.vocabulary if word not in words}))


def provided(parent: str = "") -> list[str]:
    """Return the names that plugins add to `ptx`, or to `ptx.<parent>`."""
    from pyptx_ir.plugins.errors import PluginError
    from pyptx_ir.plugins.manager import manager

    try:
        names = list(manager().namespaces())
    except PluginError:  # a broken plugin: a use of its names raises the error again; `dir` must not fail
        return []
    prefix = f"{parent}." if parent else ""
    inside = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
    return sorted({name for name in inside if "." not in name})
