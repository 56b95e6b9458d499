"""Registry of the plugins' simulator extensions, and of their rules, mutations, descriptors and semantics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.plugins.errors import PluginError
from pyptx_sim.extension.step import InstructionSemantics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_ir.plugins.semantics import Semantics
    from pyptx_sim.extension.descriptor import Descriptor
    from pyptx_sim.extension.mutation import Mutation
    from pyptx_sim.extension.rule import Rule


T = TypeVar("T")

VERSION = 1
"""Version of the extension interface; it increases when existing extensions become invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """Contributions of one plugin to the simulator.

    `version` is the interface `VERSION` that the plugin was written for.
    """

    version: int
    steps: tuple[InstructionSemantics, ...] = ()
    rules: tuple[Rule, ...] = ()
    mutations: tuple[Mutation, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()


@until_plugins_change(maxsize=1)
def extensions() -> Mapping[str, Extension]:
    """Return the extensions of all plugins by name, including the simulator's own.

    Raise PluginError for an extension with another interface version.
    """
    from pyptx_ir.plugins.manager import manager

    found: dict[str, Extension] = {}
    for row in manager().simulator_extensions():
        loaded = row.load()
        if not isinstance(loaded, Extension):
            raise PluginError(f"simulator extension {row.name!r}: expected an Extension, got {type(loaded).__name__}")
        if loaded.version != VERSION:
            raise PluginError(
                f"simulator extension {row.name!r}: expected API version {VERSION}, got {loaded.version}",
                help="install matching versions of the plugin and of pyptx-sim",
            )
        found[row.name] = loaded
    return found


@until_plugins_change(maxsize=1)
def rules() -> Mapping[str, Rule]:
    """Return the rules of all extensions by name."""
    return _unique("rule", lambda extension: {rule.name: rule for rule in extension.rules})


@until_plugins_change(maxsize=1)
def mutations() -> tuple[Mutation, ...]:
    """Return the mutation operators of all extensions."""
    found = _unique("mutation", lambda extension: {mutation.name: mutation for mutation in extension.mutations})
    return tuple(found.values())


@until_plugins_change(maxsize=64)
def descriptor_of(described: type) -> Descriptor | None:
    """Return the `Descriptor` for objects of class `described`; None if no plugin defines one."""
    return next((row for row in _descriptors().values() if issubclass(described, row.described)), None)


@until_plugins_change(maxsize=64)
def offered(name: str) -> type | None:
    """Return the descriptor class that plugins offer as `name`; None if no plugin offers it."""
    classes = (row.offered for row in _descriptors().values())
    return next((each for each in classes if each is not None and each.__name__ == name), None)


def examples() -> tuple[str, ...]:
    """Return example descriptors as written after an array on the command line."""
    return tuple(row.example for row in _descriptors().values() if row.example)


def _descriptors() -> Mapping[str, Descriptor]:
    return _unique("descriptor", lambda extension: {row.name: row for row in extension.descriptors})


@until_plugins_change(maxsize=1)
def _steps() -> Mapping[tuple[str, ...], InstructionSemantics]:
    steps = _unique("steps of", lambda extension: {step.opcode: step for step in extension.steps})
    return {step.words: step for step in steps.values()}


def _unique(what: str, rows_of: Callable[[Extension], Mapping[str, T]]) -> dict[str, T]:
    """Merge what `rows_of` returns for each extension; raise PluginError for a key that two extensions define."""
    found: dict[str, T] = {}
    owners: dict[str, str] = {}
    for name, extension in extensions().items():
        for key, row in rows_of(extension).items():
            if key in found:
                raise PluginError(f"simulator extensions {owners[key]!r} and {name!r} both define {what} {key!r}")
            found[key], owners[key] = row, name
    return found


@until_plugins_change(maxsize=1)
def _semantics() -> Mapping[tuple[str, ...], tuple[Semantics, ...]]:
    from pyptx_ir.plugins.manager import manager

    found: dict[tuple[str, ...], tuple[Semantics, ...]] = {}
    for row in manager().semantics():
        words = tuple(row.opcode.split("."))
        found[words] = (*found.get(words, ()), row)
    return found


@until_plugins_change(maxsize=1 << 12)
def meaning_of(opcode: tuple[str, ...]) -> InstructionSemantics | tuple[Semantics, ...] | None:
    """Return the `InstructionSemantics` or `Semantics` with the longest matching opcode prefix, None without match."""
    steps, semantics = _steps(), _semantics()
    for length in range(len(opcode), 0, -1):
        words = opcode[:length]
        if words in steps:
            return steps[words]
        if words in semantics:
            return semantics[words]
    return None


def step_of(opcode: tuple[str, ...]) -> InstructionSemantics | None:
    """Return the `InstructionSemantics` of an opcode; None if it has only `Semantics`, or no semantics."""
    found = meaning_of(opcode)
    return found if isinstance(found, InstructionSemantics) else None
