"""Subclass of pluggy's manager for pyptx hooks: each returned value and each error carries its plugin's name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, cast

import pluggy

from pyptx_ir.isa.check_rows import CheckCode, CheckRule
from pyptx_ir.isa.kinds.kind import Kind
from pyptx_ir.isa.matrix_rows import Element, MatrixMove
from pyptx_ir.isa.memory_rows import Memory
from pyptx_ir.isa.rows import InstructionRow
from pyptx_ir.isa.target_rows import TargetRow
from pyptx_ir.plugins.advice import Advice
from pyptx_ir.plugins.descriptor_rows import DescriptorKind
from pyptx_ir.plugins.errors import PluginError
from pyptx_ir.plugins.explanation_rows import Explanation
from pyptx_ir.plugins.hookspecs import HookSpecs
from pyptx_ir.plugins.marker import MARK
from pyptx_ir.plugins.rows import (
    Command,
    DoctorCheck,
    Fragments,
    LaunchAttribute,
    Runtime,
    SimulatorExtension,
    SugarRule,
)
from pyptx_ir.plugins.semantics import Semantics
from pyptx_ir.plugins.source_rows import SourceFormat
from pyptx_ir.plugins.version import API_VERSION

if TYPE_CHECKING:
    from pyptx_ir.plugins.discovery import Candidate

# For each plugin hook, the class of the rows that it returns, and the attribute that identifies a row.
ROWS: dict[str, tuple[type, str]] = {
    "pyptx_targets": (TargetRow, "name"),
    "pyptx_instructions": (InstructionRow, "name"),
    "pyptx_operand_kinds": (Kind, "name"),
    "pyptx_elements": (Element, "name"),
    "pyptx_fragments": (Fragments, "instruction"),
    "pyptx_matrix_moves": (MatrixMove, "name"),
    "pyptx_check_codes": (CheckCode, "name"),
    "pyptx_check_rules": (CheckRule, "name"),
    "pyptx_memories": (Memory, "space"),
    "pyptx_descriptors": (DescriptorKind, "name"),
    "pyptx_semantics": (Semantics, "name"),
    "pyptx_simulator_extensions": (SimulatorExtension, "name"),
    "pyptx_explanations": (Explanation, "name"),
    "pyptx_launch_attributes": (LaunchAttribute, "name"),
    "pyptx_runtimes": (Runtime, "name"),
    "pyptx_commands": (Command, "name"),
    "pyptx_sources": (SourceFormat, "name"),
    "pyptx_sugar_rules": (SugarRule, "name"),
    "pyptx_advice": (Advice, "pattern"),
    "pyptx_doctor_checks": (DoctorCheck, "name"),
}


class Registry(pluggy.PluginManager):
    """The loaded plugins, each with its `Candidate`, and the error of each plugin that failed to load."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        """Import and register `candidates`; keep the error of each candidate that fails."""
        super().__init__("pyptx")
        self.add_hookspecs(HookSpecs)
        self.candidates: dict[str, Candidate] = {}
        self.broken: tuple[PluginError, ...] = ()
        for candidate in candidates:
            try:
                self.add(candidate)
            except PluginError as error:
                self.broken += (error,)

    def add(self, candidate: Candidate) -> None:
        """Import and register a plugin; raise PluginError, and add nothing, if it violates the plugin contract."""
        plugin = _imported(candidate)
        known = self.candidates.get(candidate.name) or self.candidates.get(self.get_name(plugin) or "")
        if known is not None:
            raise PluginError(f"{candidate.label} is registered twice, also as {known.label}")
        try:
            self.register(plugin, candidate.name)
            self.check_pending()
            self._check_version(candidate)
        except BaseException as error:
            self.remove(candidate)
            if not isinstance(error, pluggy.PluginValidationError):
                raise
            raise PluginError(f"{candidate.label}: {' '.join(str(error).split())}", help=_hooks_hint()) from error
        self.candidates[candidate.name] = candidate

    def remove(self, candidate: Candidate) -> None:
        """Remove a plugin and its hooks."""
        self.candidates.pop(candidate.name, None)
        if self.has_plugin(candidate.name):
            self.unregister(name=candidate.name)

    def contributions(self, hook: str) -> Iterable[tuple[Candidate, str, object]]:
        """Call `hook` of every plugin; yield each returned row with its plugin and its name."""
        named = _namespaces if hook == "pyptx_namespaces" else _rows
        for implementation in getattr(self.hook, hook).get_hookimpls():
            candidate = self.candidates[implementation.plugin_name]
            for name, value in named(candidate, hook, _call(candidate, hook, implementation)):
                yield candidate, name, value

    def hooks_of(self, candidate: Candidate) -> list[str]:
        """Return the hooks that a plugin implements, except `pyptx_api_version`."""
        callers = self.get_hookcallers(self.get_plugin(candidate.name)) or []
        return [caller.name for caller in callers if caller.name in ROWS or caller.name == "pyptx_namespaces"]

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Return the options of a marked hook function; raise for a hook without a mark, which pluggy would ignore."""
        # The hook function is looked up statically, because pluggy before 1.7 evaluates properties of plugin objects.
        modular = isinstance(plugin, ModuleType)
        member = vars(plugin).get(name) if modular else inspect.getattr_static(plugin, name, None)
        if hasattr(member, MARK):
            return super().parse_hookimpl_opts(plugin, name)
        if name.startswith("pyptx_") and inspect.isfunction(member):
            raise pluggy.PluginValidationError(plugin, f"{name} is not marked as a hook; decorate it with @hookimpl")
        return None

    def _check_version(self, candidate: Candidate) -> None:
        implementations = self.hook.pyptx_api_version.get_hookimpls()
        implementation = next((each for each in implementations if each.plugin_name == candidate.name), None)
        if implementation is None:
            raise PluginError(
                f"{candidate.label} has no plugin API version",
                help="implement the hook pyptx_api_version: return the pyptx_ir.plugins.API_VERSION the plugin needs",
            )
        version = _call(candidate, "pyptx_api_version", implementation)
        if version != API_VERSION:
            raise PluginError(
                f"{candidate.label} has plugin API version {version}; this pyptx-ir needs {API_VERSION}",
                help=f"install compatible versions of {candidate.distribution} and pyptx-ir",
            )


def _imported(candidate: Candidate) -> object:
    try:
        return candidate.load()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | MemoryError):
            raise
        raise PluginError(
            f"{candidate.label} failed to import: {type(error).__name__}: {error}",
            help=f"repair or uninstall {candidate.distribution}",
        ) from error


def _call(candidate: Candidate, hook: str, implementation: pluggy.HookImpl) -> object:
    try:
        return implementation.function()
    except Exception as error:
        raise PluginError(
            f"{hook} of {candidate.label} failed: {type(error).__name__}: {error}",
            help=f"repair or uninstall {candidate.distribution}",
        ) from error


def _rows(candidate: Candidate, hook: str, returned: object) -> Iterable[tuple[str, object]]:
    kind, key = ROWS[hook]
    if not isinstance(returned, Sequence):
        raise PluginError(f"{hook} of {candidate.label} returned {_kind(returned)}; it must return a sequence of rows")
    for value in cast("Sequence[object]", returned):
        if not isinstance(value, kind):
            raise PluginError(
                f"{hook} of {candidate.label} returned a row of class {_kind(value)}, not {kind.__name__}"
            )
        yield str(getattr(value, key)), value


def _namespaces(candidate: Candidate, hook: str, returned: object) -> Iterable[tuple[str, object]]:
    if not isinstance(returned, Mapping):
        raise PluginError(f"{hook} of {candidate.label} returned {_kind(returned)}; it must return a mapping by name")
    for name, value in cast("Mapping[object, object]", returned).items():
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise PluginError(
                f"{hook} of {candidate.label}: invalid name {name!r} of a namespace: it must be an identifier"
            )
        yield name, value


def _kind(value: object) -> str:
    return type(value).__name__


def _hooks_hint() -> str:
    names = sorted(name for name in vars(HookSpecs) if name.startswith("pyptx_"))
    return f"use these hooks, without arguments: {', '.join(names)}"
