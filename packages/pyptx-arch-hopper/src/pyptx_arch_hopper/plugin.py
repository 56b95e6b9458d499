"""The Hopper plugin, loaded on the first use of one of its features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.isa.matrix_rows import MatrixMove
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.plugins.advice import Advice
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.plugins.rows import Fragments, LaunchAttribute, SimulatorExtension, SugarRule


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin implements."""
    return API_VERSION


@hookimpl
def pyptx_instructions() -> Sequence[InstructionRow]:
    """Return Hopper's rows of the instruction table."""
    from pyptx_arch_hopper.table.chapters import ROWS

    return ROWS


@hookimpl
def pyptx_fragments() -> Sequence[Fragments]:
    """Return the fragment layouts of wgmma."""
    from pyptx_arch_hopper.fragments import FRAGMENTS

    return FRAGMENTS


@hookimpl
def pyptx_matrix_moves() -> Sequence[MatrixMove]:
    """Return the fragment layouts that stmatrix has and ldmatrix lacks."""
    from pyptx_arch_hopper.fragments import MOVES

    return MOVES


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return Hopper's namespaces and functions in `ptx`: wgmma, TMA, clusters, bulk copies, fences."""
    from pyptx_arch_hopper.namespaces import NAMESPACES

    return NAMESPACES


@hookimpl
def pyptx_descriptors() -> Sequence[DescriptorKind]:
    """Return the kernel-argument descriptors that Hopper adds: tensor maps."""
    from pyptx_arch_hopper.tensor_maps.kind import TENSOR_MAP

    return (TENSOR_MAP,)


@hookimpl
def pyptx_simulator_extensions() -> Sequence[SimulatorExtension]:
    """Return the simulator extension for Hopper; only the simulator calls this."""
    from pyptx_ir.plugins.rows import SimulatorExtension

    def load() -> object:
        from pyptx_arch_hopper.sim.extension import EXTENSION

        return EXTENSION

    return (SimulatorExtension("hopper", load),)


@hookimpl
def pyptx_launch_attributes() -> Sequence[LaunchAttribute]:
    """Return the launch attributes of compute capability 9.0."""
    from pyptx_arch_hopper.launch_attributes import ROWS

    return ROWS


@hookimpl
def pyptx_advice() -> Sequence[Advice]:
    """Return explanations of ptxas messages about wgmma and setmaxnreg."""
    from pyptx_arch_hopper.advice import ADVICE

    return ADVICE


@hookimpl
def pyptx_sugar_rules() -> Sequence[SugarRule]:
    """Return the transpiler's rules for Hopper; only the transpiler calls this."""
    from pyptx_arch_hopper.sugar.accumulators import ACCUMULATOR
    from pyptx_arch_hopper.sugar.advances import ADVANCE
    from pyptx_arch_hopper.sugar.descriptors import DESCRIPTOR
    from pyptx_arch_hopper.sugar.rings import ARRIVAL, RING

    return RING, ACCUMULATOR, DESCRIPTOR, ADVANCE, ARRIVAL
