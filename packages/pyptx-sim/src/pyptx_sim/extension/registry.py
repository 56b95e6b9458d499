"""The extensions that plugins hand in, and what they hold, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.plugins.errors import PluginError
from pyptx_sim.extension.steps import Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.plugins.rows import Semantics


VERSION = 1
"""What `Extension.version` has to be: it grows when extensions that were written before would no longer be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What one plugin brings to the simulator. `version` is the `VERSION` of this interface that it was written for."""

    version: int
    steps: tuple[Step, ...] = ()


@until_plugins_change(maxsize=1)
def extensions() -> Mapping[str, Extension]:
    """Return the extensions of all plugins by their names, the simulator's own among them.

    Raise PluginError for one that was written for another version of the interface.
    """
    from pyptx_ir.plugins.manager import manager

    found: dict[str, Extension] = {}
    for row in manager().simulator_extensions():
        loaded = row.load()
        if not isinstance(loaded, Extension):
            raise PluginError(f"the simulator's extension {row.name!r} loads a {type(loaded).__name__}, no Extension")
        if loaded.version != VERSION:
            raise PluginError(
                f"the simulator's extension {row.name!r} is for version {loaded.version} of it; this is {VERSION}",
                hint="install versions of the plugin and of pyptx-sim that go together",
            )
        found[row.name] = loaded
    return found


@until_plugins_change(maxsize=1)
def _steps() -> Mapping[tuple[str, ...], Step]:
    found: dict[tuple[str, ...], tuple[str, Step]] = {}
    for name, extension in extensions().items():
        for step in extension.steps:
            other = found.setdefault(step.words, (name, step))
            if other[1] is not step:
                raise PluginError(f"the simulator's extensions {other[0]!r} and {name!r} both have {step.opcode}")
    return {words: step for words, (_, step) in found.items()}


@until_plugins_change(maxsize=1)
def _semantics() -> Mapping[tuple[str, ...], Semantics]:
    from pyptx_ir.plugins.manager import manager

    return {tuple(row.opcode.split(".")): row for row in manager().semantics()}


@until_plugins_change(maxsize=1 << 12)
def meaning_of(opcode: tuple[str, ...]) -> Step | Semantics | None:
    """Return the step or the row of semantics that answers for an opcode, the one with most words, or None."""
    steps, semantics = _steps(), _semantics()
    for length in range(len(opcode), 0, -1):
        words = opcode[:length]
        if words in steps:
            return steps[words]
        if words in semantics:
            return semantics[words]
    return None


def step_of(opcode: tuple[str, ...]) -> Step | None:
    """Return the step that answers for an opcode; None where a row of semantics does, or nothing."""
    found = meaning_of(opcode)
    return found if isinstance(found, Step) else None
