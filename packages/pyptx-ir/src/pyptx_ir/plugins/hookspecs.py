"""Every extension point of pyptx, in one file.

A plugin is a module (or object) that implements some of these functions with `@hookimpl` and is named in the
entry-point group `pyptx`. Each hook returns immutable rows; nothing is handed in to be changed. The plugin's module may
import only `pyptx_ir` and the standard library at its top level; what is heavy is imported inside the hook's body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from pyptx_ir.plugins.marker import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.isa.check_rows import CheckCode, CheckRule
    from pyptx_ir.isa.kinds.kind import Kind
    from pyptx_ir.isa.matrix_rows import Element, MatrixMove
    from pyptx_ir.isa.memory_rows import Memory
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_ir.plugins.advice import Advice
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
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

hookspec = pluggy.HookspecMarker("pyptx")

__all__ = ["HookSpecs", "hookimpl", "hookspec"]


class HookSpecs:
    """The hooks. Each is called once, when something that it could own is first asked for."""

    @hookspec
    def pyptx_api_version(self) -> int:
        """Return the `pyptx_ir.plugins.API_VERSION` that the plugin was written for. Required."""
        raise NotImplementedError

    @hookspec
    def pyptx_targets(self) -> Sequence[TargetRow]:
        """Return targets beyond NVIDIA's own, which are core data."""
        raise NotImplementedError

    @hookspec
    def pyptx_instructions(self) -> Sequence[InstructionRow]:
        """Return rows of the instruction table."""
        raise NotImplementedError

    @hookspec
    def pyptx_operand_kinds(self) -> Sequence[Kind]:
        """Return kinds of operands that rows of the instruction table may name (`pyptx_ir.isa.patterns`)."""
        raise NotImplementedError

    @hookspec
    def pyptx_elements(self) -> Sequence[Element]:
        """Return types of matrices' elements, which the kind of operand `fragment` counts registers by."""
        raise NotImplementedError

    @hookspec
    def pyptx_fragments(self) -> Sequence[Fragments]:
        """Return how matrices lie in the registers of instructions, for `pyptx_ir.fragments.fragment_of`."""
        raise NotImplementedError

    @hookspec
    def pyptx_matrix_moves(self) -> Sequence[MatrixMove]:
        """Return how matrices move between shared memory and registers, for `pyptx_ir.fragments.move_of`."""
        raise NotImplementedError

    @hookspec
    def pyptx_check_codes(self) -> Sequence[CheckCode]:
        """Return kinds of mistakes that rules of `pyptx check` report."""
        raise NotImplementedError

    @hookspec
    def pyptx_check_rules(self) -> Sequence[CheckRule]:
        """Return rules of `pyptx check`: they look at a statement, or a module, behind NVIDIA's own."""
        raise NotImplementedError

    @hookspec
    def pyptx_namespaces(self) -> Mapping[str, object]:
        """Return DSL namespaces by name: `{"wgmma": namespace}` becomes `ptx.wgmma`.

        A dotted name extends a namespace of the core: `{"cp.async_.bulk": copies}` becomes `ptx.cp.async_.bulk`. It is
        asked for where the core's own namespace has no such name.
        """
        raise NotImplementedError

    @hookspec
    def pyptx_memories(self) -> Sequence[Memory]:
        """Return memories in which kernels of the DSL allocate: `trace.memories.of("vault").allocate(trace, 64)`."""
        raise NotImplementedError

    @hookspec
    def pyptx_descriptors(self) -> Sequence[DescriptorKind]:
        """Return kinds of descriptors, which kernels get of their arrays: `X.descriptor("tensor_map")`."""
        raise NotImplementedError

    @hookspec
    def pyptx_semantics(self) -> Sequence[Semantics]:
        """Return what instructions do, for the simulator."""
        raise NotImplementedError

    @hookspec
    def pyptx_simulator_extensions(self) -> Sequence[SimulatorExtension]:
        """Return what the simulator has to know besides: steps, memories, engines, rules."""
        raise NotImplementedError

    @hookspec
    def pyptx_launch_attributes(self) -> Sequence[LaunchAttribute]:
        """Return what `@kernel(launch={…})` may ask of the driver."""
        raise NotImplementedError

    @hookspec
    def pyptx_runtimes(self) -> Sequence[Runtime]:
        """Return ways to run kernels."""
        raise NotImplementedError

    @hookspec
    def pyptx_commands(self) -> Sequence[Command]:
        """Return subcommands of `pyptx`."""
        raise NotImplementedError

    @hookspec
    def pyptx_sources(self) -> Sequence[SourceFormat]:
        """Return kinds of inputs that commands read, and the PTX modules in them."""
        raise NotImplementedError

    @hookspec
    def pyptx_sugar_rules(self) -> Sequence[SugarRule]:
        """Return ways of saying PTX in better Python, for the transpiler: asked in this order, behind its own."""
        raise NotImplementedError

    @hookspec
    def pyptx_advice(self) -> Sequence[Advice]:
        """Return what remarks of ptxas mean, and what to do about them, for `Kernel.explain` and PtxasAdvisory."""
        raise NotImplementedError

    @hookspec
    def pyptx_doctor_checks(self) -> Sequence[DoctorCheck]:
        """Return what `pyptx doctor` looks at."""
        raise NotImplementedError

    @hookspec(warn_on_impl=DeprecationWarning("pyptx_examinations is pyptx_doctor_checks now, for one release more"))
    def pyptx_examinations(self) -> Sequence[DoctorCheck]:
        """Return what `pyptx doctor` looks at, as `pyptx_doctor_checks` does. Deprecated."""
        raise NotImplementedError
