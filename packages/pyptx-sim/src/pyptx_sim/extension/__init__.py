"""Public, versioned plugin interface of the simulator; the built-in rules and instructions use it, too.

A plugin's hook `pyptx_simulator_extensions` returns rows of `pyptx_ir.plugins.rows.SimulatorExtension`. Each has a name
and a `load()` that returns an `Extension` and is called when a program is first run. The guide is
docs/architecture-plugin.md.

Names imported under `if TYPE_CHECKING` are for annotations only. Besides this package, a plugin may import
`pyptx_sim.numerics`, `pyptx_sim.types` and `pyptx_sim.errors`.
"""

from typing import TYPE_CHECKING

from pyptx_ir.renamed import missing_attribute
from pyptx_sim.extension.descriptor import Descriptor
from pyptx_sim.extension.group import WARP, WARPGROUP, GroupKind
from pyptx_sim.extension.item import MBARRIER_BYTES, AsyncIssue
from pyptx_sim.extension.layout import AccessLayout
from pyptx_sim.extension.mutation import Mutation
from pyptx_sim.extension.origin import Origin
from pyptx_sim.extension.registry import (
    VERSION,
    Extension,
    descriptor_of,
    examples,
    extensions,
    meaning_of,
    mutations,
    offered,
    rules,
    step_of,
)
from pyptx_sim.extension.rule import FindingDetails, Rule, Severity, explained
from pyptx_sim.extension.space import ASYNC, Proxy, Space
from pyptx_sim.extension.stall import Stall
from pyptx_sim.extension.step import AsyncRegisters, Converges, Effect, InstructionSemantics, RegisterChecker
from pyptx_sim.observer import AccessKind, AsyncAccess, AsyncOperations, Observer
from pyptx_sim.operation import Operation

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.carrying import Carried as Carried
    from pyptx_sim.instructions.compiling.operands import Operands as Operands
    from pyptx_sim.instructions.compiling.registers import Reader as Reader
    from pyptx_sim.instructions.compiling.registers import Writer as Writer
    from pyptx_sim.instructions.memory.addresses import Target as Target
    from pyptx_sim.instructions.turns.turn import ExecutionContext as ExecutionContext
    from pyptx_sim.instructions.turns.warpgroups import Warpgroups as Warpgroups
    from pyptx_sim.machine.asynchrony.groups import Groups as Groups
    from pyptx_sim.machine.lanes import IntArray as IntArray
    from pyptx_sim.machine.memory.arena import Arena as Arena
    from pyptx_sim.machine.memory.atomics import Update as Update
    from pyptx_sim.machine.memory.spaces import SpaceMemory as SpaceMemory
    from pyptx_sim.machine.scheduling.code import Action as Action
    from pyptx_sim.machine.scheduling.code import Terminator as Terminator
    from pyptx_sim.machine.stalled import Stalled as Stalled
    from pyptx_sim.machine.wave import Wave as Wave
    from pyptx_sim.operation import Array as Array
    from pyptx_sim.operation import Mask as Mask

__all__ = [
    "ASYNC",
    "MBARRIER_BYTES",
    "VERSION",
    "WARP",
    "WARPGROUP",
    "AccessKind",
    "AccessLayout",
    "AsyncAccess",
    "AsyncIssue",
    "AsyncOperations",
    "AsyncRegisters",
    "Converges",
    "Descriptor",
    "Effect",
    "Extension",
    "FindingDetails",
    "GroupKind",
    "InstructionSemantics",
    "Mutation",
    "Observer",
    "Operation",
    "Origin",
    "Proxy",
    "RegisterChecker",
    "Rule",
    "Severity",
    "Space",
    "Stall",
    "descriptor_of",
    "examples",
    "explained",
    "extensions",
    "meaning_of",
    "mutations",
    "offered",
    "rules",
    "step_of",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Raise AttributeError for an unknown name; for the old name of a renamed attribute, state the present name."""
        raise missing_attribute(__name__, name)
