"""The Blackwell plugin, loaded on the first use of one of its features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.plugins import Semantics
    from pyptx_ir.plugins.rows import Fragments, LaunchAttribute, SimulatorExtension, SugarRule


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin implements."""
    return API_VERSION


@hookimpl
def pyptx_instructions() -> Sequence[InstructionRow]:
    """Return Blackwell's rows of the instruction table."""
    from pyptx_arch_blackwell.table.chapters import ROWS

    return ROWS


@hookimpl
def pyptx_fragments() -> Sequence[Fragments]:
    """Return the fragment layouts of tensor memory accumulators in registers."""
    from pyptx_arch_blackwell.fragments import FRAGMENTS

    return FRAGMENTS


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return Blackwell's names in `ptx`: tcgen05, tmem, clusterlaunchcontrol, st_bulk."""
    from pyptx_arch_blackwell.namespaces import NAMESPACES

    return NAMESPACES


@hookimpl
def pyptx_launch_attributes() -> Sequence[LaunchAttribute]:
    """Return the launch attributes of compute capability 10.0."""
    from pyptx_arch_blackwell.launch_attributes import ROWS

    return ROWS


@hookimpl
def pyptx_semantics() -> Sequence[Semantics]:
    """Return the semantics of block-scaled `mma`; only the simulator calls this."""
    from pyptx_arch_blackwell.sim.scaled_mma import SEMANTICS

    return SEMANTICS


@hookimpl
def pyptx_simulator_extensions() -> Sequence[SimulatorExtension]:
    """Return the simulator extension for Blackwell; only the simulator calls this."""
    from pyptx_ir.plugins.rows import SimulatorExtension

    def load() -> object:
        from pyptx_arch_blackwell.sim.extension import EXTENSION

        return EXTENSION

    return (SimulatorExtension("blackwell", load),)


@hookimpl
def pyptx_sugar_rules() -> Sequence[SugarRule]:
    """Return the transpiler's rules for Blackwell; only the transpiler calls this."""
    from pyptx_arch_blackwell.sugar.descriptors import DESCRIPTOR
    from pyptx_arch_blackwell.sugar.mma import PRODUCT
    from pyptx_arch_blackwell.sugar.statements import STATEMENT

    return PRODUCT, DESCRIPTOR, STATEMENT
