"""The plugin manager: loads plugins at first need, collects their rows, and names the plugin at fault in errors.

pluggy and the entry-point scan take some 40 ms together, so this module does nothing before the first query.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pyptx_ir.collector import collector_paused
from pyptx_ir.plugins.caches import forget_answers
from pyptx_ir.plugins.discovery import Candidate, discover
from pyptx_ir.plugins.errors import MissingPluginError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyptx_ir.isa.check_rows import CheckCode, CheckRule
    from pyptx_ir.isa.kinds.kind import Kind
    from pyptx_ir.isa.matrix_rows import Element, MatrixMove
    from pyptx_ir.isa.memory_rows import Memory
    from pyptx_ir.isa.row_faults import RowFault
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_ir.plugins.advice import Advice
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.plugins.explanation_rows import Explanation
    from pyptx_ir.plugins.registry import Registry
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

Row = TypeVar("Row")

INSTRUCTIONS = "pyptx_instructions"
_EXAMINED = frozenset({INSTRUCTIONS, "pyptx_elements", "pyptx_matrix_moves"})


@dataclass(frozen=True, slots=True)
class Owned:
    """A row that a hook returned, or a DSL namespace, with the plugin that provides it."""

    name: str
    value: object
    owner: Candidate


class Plugins:
    """All plugins of a process. Thread-safe; the result of every query is computed once."""

    def __init__(self, load: Callable[[], Iterable[Candidate]] = discover) -> None:
        self._discover = load
        self._lock = threading.RLock()
        self._registry_or_none: Registry | None = None
        self._collected: dict[str, dict[str, Owned]] = {}
        self._opcodes: dict[str, tuple[InstructionRow, ...]] | None = None

    def targets(self) -> tuple[TargetRow, ...]:
        """Return every target: NVIDIA's targets, then those of plugins."""
        return cast("tuple[TargetRow, ...]", self._rows("pyptx_targets"))

    def target(self, name: str) -> TargetRow:
        """Return the target called `name`; raise TargetError with the closest names if it is unknown."""
        known = self._collect("pyptx_targets")
        owned = known.get(name)
        if owned is not None:
            return cast("TargetRow", owned.value)
        self._require_all(f"the target {name}")
        from pyptx_ir.isa.target_rows import unknown_target

        raise unknown_target(name, tuple(known))

    def instructions(self) -> tuple[InstructionRow, ...]:
        """Return every row of the instruction table: NVIDIA's rows, then those of plugins."""
        return cast("tuple[InstructionRow, ...]", self._rows(INSTRUCTIONS))

    def instructions_of(self, opcode: str) -> tuple[InstructionRow, ...]:
        """Return the rows whose instruction name starts with `opcode`."""
        found = self._by_opcode().get(opcode, ())
        if not found:
            self._require_all(f"the instruction {opcode}")
        return found

    def instructions_by_package(self) -> Mapping[str, tuple[InstructionRow, ...]]:
        """Return the rows of the instruction table by their plugin's import package; "" if it has none."""
        self._require_all(INSTRUCTIONS)
        found: dict[str, list[InstructionRow]] = {}
        for owned in self._collect(INSTRUCTIONS).values():
            found.setdefault(owned.owner.package, []).append(cast("InstructionRow", owned.value))
        return {package: tuple(rows) for package, rows in found.items()}

    def _by_opcode(self) -> dict[str, tuple[InstructionRow, ...]]:
        if self._opcodes is None:
            found: dict[str, list[InstructionRow]] = {}
            for owned in self._collect(INSTRUCTIONS).values():
                row = cast("InstructionRow", owned.value)
                found.setdefault(row.opcode, []).append(row)
            self._opcodes = {opcode: tuple(rows) for opcode, rows in found.items()}
        return self._opcodes

    def namespaces(self) -> Mapping[str, object]:
        """Return the DSL namespaces of the loaded plugins, by name."""
        self._require_all("pyptx_namespaces")
        return {name: owned.value for name, owned in self._collect("pyptx_namespaces").items()}

    def namespace(self, name: str) -> object:
        """Return the DSL namespace `ptx.<name>`; raise MissingPluginError if no plugin has it.

        A plugin that failed to load is an error only if no other plugin has the namespace, because it might provide it.
        """
        owned = self._collect("pyptx_namespaces").get(name)
        if owned is not None:
            return owned.value
        self._require_all(f"ptx.{name}")
        from pyptx_ir.plugins.homes import home_of_namespace, install_hint

        home = home_of_namespace(name)
        if home is not None:
            raise MissingPluginError(f"ptx.{name} needs {home}", help=install_hint(home))
        raise MissingPluginError(
            f"no installed plugin provides ptx.{name}",
            help=f"use ptx.inst.{name}, which emits any instruction",
        )

    def operand_kinds(self) -> tuple[Kind, ...]:
        """Return the operand kinds of the loaded plugins."""
        return cast("tuple[Kind, ...]", self._loaded_rows("pyptx_operand_kinds"))

    def elements(self) -> tuple[Element, ...]:
        """Return the matrix element types of the loaded plugins."""
        return cast("tuple[Element, ...]", self._loaded_rows("pyptx_elements"))

    def matrix_moves(self) -> tuple[MatrixMove, ...]:
        """Return the `MatrixMove` rows: moves of matrices between shared memory and registers."""
        return cast("tuple[MatrixMove, ...]", self._rows("pyptx_matrix_moves"))

    def fragments(self) -> tuple[Fragments, ...]:
        """Return the fragments of all instructions that have matrix operands."""
        return cast("tuple[Fragments, ...]", self._rows("pyptx_fragments"))

    def fragments_of(self, instruction: str) -> Fragments:
        """Return the fragments of the instruction with a name; raise MissingPluginError if no plugin has them."""
        return cast("Fragments", self._named("pyptx_fragments", instruction, f"the fragments of {instruction}"))

    def memories(self) -> tuple[Memory, ...]:
        """Return the memories in which kernels can allocate."""
        return cast("tuple[Memory, ...]", self._rows("pyptx_memories"))

    def memory(self, space: str) -> Memory:
        """Return the memory called `space`; raise MissingPluginError if no plugin has it."""
        return cast("Memory", self._named("pyptx_memories", space, f"the memory {space}"))

    def descriptors(self) -> tuple[DescriptorKind, ...]:
        """Return the kinds of array descriptors (such as TMA descriptors) of the loaded plugins."""
        return cast("tuple[DescriptorKind, ...]", self._loaded_rows("pyptx_descriptors"))

    def descriptor(self, name: str) -> DescriptorKind:
        """Return the descriptor kind called `name`; if missing, raise MissingPluginError with its distribution."""
        from pyptx_ir.plugins.homes import home_of_descriptor

        asked = f"the descriptor {name}"
        return cast("DescriptorKind", self._named("pyptx_descriptors", name, asked, home_of_descriptor(name)))

    def check_codes(self) -> tuple[CheckCode, ...]:
        """Return the error codes of `pyptx check` of the loaded plugins."""
        return cast("tuple[CheckCode, ...]", self._loaded_rows("pyptx_check_codes"))

    def check_rules(self) -> tuple[CheckRule, ...]:
        """Return `pyptx check` rules of the plugins; for an unknown instruction, raise a failed plugin's error."""
        return cast("tuple[CheckRule, ...]", self._loaded_rows("pyptx_check_rules"))

    def semantics(self) -> tuple[Semantics, ...]:
        """Return the semantics of instructions from plugins."""
        return cast("tuple[Semantics, ...]", self._rows("pyptx_semantics"))

    def simulator_extensions(self) -> tuple[SimulatorExtension, ...]:
        """Return the simulator extensions of plugins."""
        return cast("tuple[SimulatorExtension, ...]", self._rows("pyptx_simulator_extensions"))

    def explanations(self) -> tuple[Explanation, ...]:
        """Return the explanations of the loaded plugins for `pyptx explain`, except codes of `pyptx check`."""
        return cast("tuple[Explanation, ...]", self._loaded_rows("pyptx_explanations"))

    def launch_attributes(self) -> tuple[LaunchAttribute, ...]:
        """Return the launch attributes of the driver that plugins provide."""
        return cast("tuple[LaunchAttribute, ...]", self._rows("pyptx_launch_attributes"))

    def runtimes(self) -> tuple[Runtime, ...]:
        """Return the runtimes of plugins, highest priority first."""
        rows = cast("tuple[Runtime, ...]", self._rows("pyptx_runtimes"))
        return tuple(sorted(rows, key=lambda runtime: -runtime.priority))

    def commands(self) -> tuple[Command, ...]:
        """Return the subcommands of `pyptx` from plugins."""
        return cast("tuple[Command, ...]", self._rows("pyptx_commands"))

    def sources(self) -> tuple[SourceFormat, ...]:
        """Return the input formats of `pyptx` commands from plugins."""
        return cast("tuple[SourceFormat, ...]", self._loaded_rows("pyptx_sources"))

    def sugar_rules(self) -> tuple[SugarRule, ...]:
        """Return the rewrite rules of the transpiler, in the order in which they apply."""
        rows = cast("tuple[SugarRule, ...]", self._rows("pyptx_sugar_rules"))
        ordered = [row for row in rows if row.behind is None]
        for row in rows:
            if row.behind is not None:
                names = [each.name for each in ordered]
                ordered.insert(names.index(row.behind) + 1 if row.behind in names else len(names), row)
        return tuple(ordered)

    def advice(self) -> tuple[Advice, ...]:
        """Return explanations of ptxas messages from the loaded plugins; other messages have no explanation."""
        return cast("tuple[Advice, ...]", self._loaded_rows("pyptx_advice"))

    def doctor_checks(self) -> tuple[DoctorCheck, ...]:
        """Return the `pyptx doctor` checks of loaded plugins; the doctor also reports plugins that failed to load."""
        return cast("tuple[DoctorCheck, ...]", self._loaded_rows("pyptx_doctor_checks"))

    def register(self, plugin: object, name: str) -> None:
        """Add a plugin object, such as a module of a notebook, to the discovered plugins.

        Results computed without it are discarded. Raise PluginError, and add nothing, if it violates the plugin
        contract or conflicts with another plugin. Not thread-safe: no other thread may trace or check at the same time.
        """
        candidate = Candidate(name, "registered by the program", lambda: plugin)
        with self._lock:
            registry = self._registry()
            registry.add(candidate)
            joined = Plugins()
            joined._registry_or_none = registry
            try:
                for hook in registry.hooks_of(candidate):
                    joined._collect(hook)
            except BaseException:
                registry.remove(candidate)
                raise
            self._collected, self._opcodes = {}, None
        forget_answers()

    def loaded(self) -> tuple[str, ...]:
        """Return the names of the loaded plugins."""
        return tuple(self._registry().candidates)

    def broken(self) -> tuple[PluginError, ...]:
        """Return the error of each plugin that did not load."""
        return self._registry().broken

    def _registry(self) -> Registry:
        registry = self._registry_or_none
        if registry is not None:
            return registry
        from pyptx_ir.plugins.registry import Registry

        with self._lock:
            if self._registry_or_none is None:
                self._registry_or_none = Registry(self._discover())
            return self._registry_or_none

    def _rows(self, hook: str) -> tuple[object, ...]:
        self._require_all(hook)
        return self._loaded_rows(hook)

    def _loaded_rows(self, hook: str) -> tuple[object, ...]:
        return tuple(owned.value for owned in self._collect(hook).values())

    def _named(self, hook: str, name: str, asked: str, home: str | None = None) -> object:
        """Return the row of `hook` called `name`; raise MissingPluginError, or the error of a plugin that did not load.

        `home` is the distribution of this project that provides the row, if any.
        """
        known = self._collect(hook)
        owned = known.get(name)
        if owned is not None:
            return owned.value
        self._require_all(asked)
        if home is not None:
            from pyptx_ir.plugins.homes import install_hint

            raise MissingPluginError(f"{asked} needs {home}", help=install_hint(home))
        raise MissingPluginError(
            f"no installed plugin provides {asked}", help=f"available: {', '.join(known) or 'none'}"
        )

    def _require_all(self, asked: str) -> None:
        """Raise the error of a plugin that did not load: it might have provided `asked`."""
        if self._registry().broken:
            first = self._registry().broken[0]
            raise PluginError(first.message, where=f"while looking for {asked}", help=first.help) from first.__cause__

    def _collect(self, hook: str) -> dict[str, Owned]:
        found = self._collected.get(hook)
        if found is not None:
            return found
        with self._lock, collector_paused(lasting=True):  # rows of plugins are kept until exit
            if hook not in self._collected:
                found = _unique(hook, self._registry().contributions(hook))
                if hook in _EXAMINED:
                    self._require_sound(hook, found.values())
                self._collected[hook] = found
            return self._collected[hook]

    def _require_sound(self, hook: str, rows: Iterable[Owned]) -> None:
        """Raise PluginError for an invalid row of a third-party plugin; this project's rows are checked by tests."""
        from pyptx_ir.plugins.homes import HOMES

        ours = {home.distribution for home in HOMES}
        given = [owned for owned in rows if owned.owner.distribution not in ours]
        if not given:
            return
        fault_of = self._faults(hook)
        for owned in given:
            fault = fault_of(owned.value)
            if fault is not None:
                raise PluginError(
                    f"{hook} of {owned.owner.label}, row '{owned.name}', {fault.field}: {fault.message}",
                    help="repair the row in the plugin; pyptx_ir.plugins.testing.check_plugin checks a plugin",
                )

    def _faults(self, hook: str) -> Callable[[Any], RowFault | None]:
        from pyptx_ir.isa.kinds.kind import Kinds
        from pyptx_ir.isa.row_faults import fault_of, fault_of_element, fault_of_move

        if hook == "pyptx_elements":
            return fault_of_element
        if hook == "pyptx_matrix_moves":
            return fault_of_move
        kinds = cast("Iterable[Kind]", self._loaded_rows("pyptx_operand_kinds"))
        table = Kinds(kinds, cast("Iterable[Element]", self._loaded_rows("pyptx_elements")))
        return functools.partial(fault_of, kinds=table, targets=self._collect("pyptx_targets"))


def _unique(hook: str, contributions: Iterable[tuple[Candidate, str, object]]) -> dict[str, Owned]:
    found: dict[str, Owned] = {}
    for owner, name, value in contributions:
        earlier = found.get(name)
        if earlier is None:
            found[name] = Owned(name, value, owner)
            continue
        if earlier.owner is owner:
            raise PluginError(f"{hook}: {owner.label} provides {name!r} twice")
        raise PluginError(
            f"{hook}: {name!r} is provided by both {earlier.owner.label} and {owner.label}",
            help="uninstall one of the plugins, or set PYPTX_DISABLE_PLUGIN_AUTOLOAD=1 to disable installed plugins",
        )
    return found


@functools.cache
def manager() -> Plugins:
    """Return the plugin manager of this process; plugins are discovered and imported at its first query."""
    return Plugins()
