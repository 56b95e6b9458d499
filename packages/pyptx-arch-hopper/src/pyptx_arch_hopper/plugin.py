"""The plugin: what pyptx loads when something of Hopper is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.isa.matrix_rows import MatrixMove
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.plugins.rows import Fragments, LaunchAttribute, SimulatorExtension, SugarRule


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin speaks."""
    return API_VERSION


@hookimpl
def pyptx_instructions() -> Sequence[InstructionRow]:
    """Return the rows of every chapter."""
    from pyptx_arch_hopper.table.chapters import ROWS

    return ROWS


@hookimpl
def pyptx_fragments() -> Sequence[Fragments]:
    """Return the fragments of the products of a warpgroup."""
    from pyptx_arch_hopper.fragments import FRAGMENTS

    return FRAGMENTS


@hookimpl
def pyptx_matrix_moves() -> Sequence[MatrixMove]:
    """Return how stmatrix moves what ldmatrix does not."""
    from pyptx_arch_hopper.fragments import MOVES

    return MOVES


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return what stands behind `ptx.`: wgmma, TMA, clusters, bulk copies, fences."""
    from pyptx_arch_hopper.namespaces import NAMESPACES

    return NAMESPACES


@hookimpl
def pyptx_simulator_extensions() -> Sequence[SimulatorExtension]:
    """Return what is of Hopper in the simulator, which alone asks."""
    from pyptx_ir.plugins.rows import SimulatorExtension

    def load() -> object:
        from pyptx_arch_hopper.sim.extension import EXTENSION

        return EXTENSION

    return (SimulatorExtension("hopper", load),)


@hookimpl
def pyptx_launch_attributes() -> Sequence[LaunchAttribute]:
    """Return the launch attributes that came with these devices."""
    from pyptx_arch_hopper.launch_attributes import ROWS

    return ROWS


@hookimpl
def pyptx_sugar_rules() -> Sequence[SugarRule]:
    """Return how the transpiler, which alone asks, says what is of Hopper."""
    from pyptx_arch_hopper.sugar.accumulators import ACCUMULATOR
    from pyptx_arch_hopper.sugar.advances import ADVANCE
    from pyptx_arch_hopper.sugar.descriptors import DESCRIPTOR
    from pyptx_arch_hopper.sugar.rings import ARRIVAL, RING

    return RING, ACCUMULATOR, DESCRIPTOR, ADVANCE, ARRIVAL
