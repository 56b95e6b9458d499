"""Loading plugins through pluggy, and calling their hooks one by one, so that every fault has an owner's name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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

# The hook, the class of its rows, and the attribute that identifies one.
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
    "pyptx_launch_attributes": (LaunchAttribute, "name"),
    "pyptx_runtimes": (Runtime, "name"),
    "pyptx_commands": (Command, "name"),
    "pyptx_sources": (SourceFormat, "name"),
    "pyptx_sugar_rules": (SugarRule, "name"),
    "pyptx_advice": (Advice, "pattern"),
    "pyptx_doctor_checks": (DoctorCheck, "name"),
    "pyptx_examinations": (DoctorCheck, "name"),
}


class _Manager(pluggy.PluginManager):
    """pluggy's manager, reading our own mark as well as pluggy's."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        member = _member(plugin, name)
        if not getattr(member, MARK, False):
            return super().parse_hookimpl_opts(plugin, name) if hasattr(member, "pyptx_impl") else None
        return {
            "wrapper": False,
            "hookwrapper": False,
            "optionalhook": False,
            "tryfirst": False,
            "trylast": False,
            "specname": None,
        }


def _member(plugin: object, name: str) -> object:
    """Return an attribute without computing any; of a module, without the long way round that objects need."""
    return vars(plugin).get(name) if isinstance(plugin, ModuleType) else inspect.getattr_static(plugin, name, None)


@dataclass(frozen=True, slots=True)
class Registry:
    """The plugins that loaded, with their hooks, and the errors of those that did not."""

    plugins: tuple[tuple[Candidate, Mapping[str, pluggy.HookImpl]], ...]
    broken: tuple[PluginError, ...]

    @staticmethod
    def of(candidates: Iterable[Candidate]) -> Registry:
        """Import and register `candidates`; a failure is kept, with the names of plugin and distribution."""
        pluggy_manager = _Manager("pyptx")
        pluggy_manager.add_hookspecs(HookSpecs)
        plugins: list[tuple[Candidate, Mapping[str, pluggy.HookImpl]]] = []
        broken: list[PluginError] = []
        for candidate in candidates:
            try:
                plugins.append((candidate, register(pluggy_manager, candidate)))
            except PluginError as error:
                broken.append(error)
        return Registry(tuple(plugins), tuple(broken))

    def extended(self, candidate: Candidate) -> Registry:
        """Return a registry with one plugin more; raise its PluginError if it can't be registered."""
        if any(known.name == candidate.name for known, _ in self.plugins):
            raise PluginError(f"{candidate.label} is registered twice")
        pluggy_manager = _Manager("pyptx")
        pluggy_manager.add_hookspecs(HookSpecs)
        return replace(self, plugins=(*self.plugins, (candidate, register(pluggy_manager, candidate))))

    def contributions(self, hook: str) -> Iterable[tuple[Candidate, str, object]]:
        """Call `hook` of every plugin; yield owner, name and value of all that they return."""
        for candidate, hooks in self.plugins:
            implementation = hooks.get(hook)
            if implementation is None:
                continue
            returned = _call(candidate, hook, implementation)
            named = _namespaces if hook == "pyptx_namespaces" else _rows
            for name, value in named(candidate, hook, returned):
                yield candidate, name, value


def register(pluggy_manager: pluggy.PluginManager, candidate: Candidate) -> Mapping[str, pluggy.HookImpl]:
    """Import one plugin and check it: its hooks exist, take no arguments, carry the mark, and speak our API version."""
    try:
        plugin = candidate.load()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | MemoryError):
            raise
        raise PluginError(
            f"{candidate.label} failed to import: {type(error).__name__}: {error}",
            hint=f"repair or uninstall {candidate.distribution}",
        ) from error
    _refuse_unmarked(candidate, plugin)
    try:
        pluggy_manager.register(plugin, candidate.name)
        pluggy_manager.check_pending()
    except ValueError as error:
        raise PluginError(f"{candidate.label} is registered twice: {error}") from error
    except pluggy.PluginValidationError as error:
        pluggy_manager.unregister(name=candidate.name)
        raise PluginError(f"{candidate.label}: {_one_line(error)}", hint=_hooks_hint()) from error
    hooks = _implementations(pluggy_manager, plugin)
    _check_version(candidate, hooks)
    return hooks


def _refuse_unmarked(candidate: Candidate, plugin: object) -> None:
    """Raise for a function that is called like a hook and lacks the mark: pluggy would pass over it in silence."""
    for name in dir(plugin):
        member = _member(plugin, name) if name.startswith("pyptx_") else None
        if not inspect.isfunction(member):
            continue
        if not hasattr(member, MARK) and not hasattr(member, "pyptx_impl"):
            raise PluginError(f"{candidate.label}: {name} is not marked as a hook", hint="decorate it with @hookimpl")


def _implementations(pluggy_manager: pluggy.PluginManager, plugin: object) -> Mapping[str, pluggy.HookImpl]:
    callers = pluggy_manager.get_hookcallers(plugin) or []
    return {
        caller.name: implementation
        for caller in callers
        for implementation in caller.get_hookimpls()
        if implementation.plugin is plugin
    }


def _check_version(candidate: Candidate, hooks: Mapping[str, pluggy.HookImpl]) -> None:
    implementation = hooks.get("pyptx_api_version")
    if implementation is None:
        raise PluginError(
            f"{candidate.label} does not say which version of the hooks it was written for",
            hint="implement the hook pyptx_api_version, returning pyptx_ir.plugins.API_VERSION as it was then",
        )
    version = _call(candidate, "pyptx_api_version", implementation)
    if version != API_VERSION:
        raise PluginError(
            f"{candidate.label} speaks version {version} of the hooks; this pyptx-ir speaks {API_VERSION}",
            hint=f"install versions of {candidate.distribution} and pyptx-ir that go together",
        )


def _call(candidate: Candidate, hook: str, implementation: pluggy.HookImpl) -> object:
    try:
        return implementation.function()
    except Exception as error:
        raise PluginError(
            f"{hook} of {candidate.label} failed: {type(error).__name__}: {error}",
            hint=f"repair or uninstall {candidate.distribution}",
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
            raise PluginError(f"{hook} of {candidate.label}: {name!r} can't be a name behind `ptx.`")
        yield name, value


def _kind(value: object) -> str:
    return type(value).__name__


def _one_line(error: pluggy.PluginValidationError) -> str:
    return " ".join(str(error).split())


def _hooks_hint() -> str:
    names = sorted(name for name in vars(HookSpecs) if name.startswith("pyptx_"))
    return f"the hooks are {', '.join(names)}; none takes arguments"
