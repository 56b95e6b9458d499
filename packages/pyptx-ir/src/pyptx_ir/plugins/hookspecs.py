"""Every extension point of pyptx, in one file.

A plugin is a module (or object) that implements some of these functions with `@hookimpl` and is named in the
entry-point group `pyptx`. Each hook returns immutable rows and gets no mutable arguments. The plugin's module may
import only `pyptx_ir` and the standard library at its top level; heavy imports go into the hook's body.
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
    from pyptx_ir.plugins.explanation_rows import Explanation
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
    """Hook specifications. Each hook is called once, at the first query for something that it could provide."""

    @hookspec
    def pyptx_api_version(self) -> int:
        """Return the `pyptx_ir.plugins.API_VERSION` that the plugin was written for. This hook is required."""
        raise NotImplementedError

    @hookspec
    def pyptx_targets(self) -> Sequence[TargetRow]:
        """Return rows of targets in addition to NVIDIA's targets, which are core data."""
        raise NotImplementedError

    @hookspec
    def pyptx_instructions(self) -> Sequence[InstructionRow]:
        """Return rows of the instruction table."""
        raise NotImplementedError

    @hookspec
    def pyptx_operand_kinds(self) -> Sequence[Kind]:
        """Return kinds of operands for use in rows of the instruction table (`pyptx_ir.isa.patterns`)."""
        raise NotImplementedError

    @hookspec
    def pyptx_elements(self) -> Sequence[Element]:
        """Return matrix element types, from which the operand kind `fragment` computes register counts."""
        raise NotImplementedError

    @hookspec
    def pyptx_fragments(self) -> Sequence[Fragments]:
        """Return register layouts of matrices, for `pyptx_ir.fragments.fragment_of`."""
        raise NotImplementedError

    @hookspec
    def pyptx_matrix_moves(self) -> Sequence[MatrixMove]:
        """Return moves of matrices between shared memory and registers, for `pyptx_ir.fragments.move_of`."""
        raise NotImplementedError

    @hookspec
    def pyptx_check_codes(self) -> Sequence[CheckCode]:
        """Return error codes that rules of `pyptx check` report."""
        raise NotImplementedError

    @hookspec
    def pyptx_check_rules(self) -> Sequence[CheckRule]:
        """Return rules of `pyptx check` for a statement or a module; they run after NVIDIA's own."""
        raise NotImplementedError

    @hookspec
    def pyptx_namespaces(self) -> Mapping[str, object]:
        """Return DSL namespaces by name: `{"wgmma": namespace}` becomes `ptx.wgmma`.

        A dotted name extends a namespace of the core: `{"cp.async_.bulk": copies}` becomes `ptx.cp.async_.bulk`. The
        plugin's namespace is used if the core's own lacks the name.
        """
        raise NotImplementedError

    @hookspec
    def pyptx_memories(self) -> Sequence[Memory]:
        """Return memories in which DSL kernels allocate: `trace.memories.of("vault").allocate(trace, 64)`."""
        raise NotImplementedError

    @hookspec
    def pyptx_descriptors(self) -> Sequence[DescriptorKind]:
        """Return kinds of descriptors, which kernels obtain from their arrays: `X.descriptor("tensor_map")`."""
        raise NotImplementedError

    @hookspec
    def pyptx_semantics(self) -> Sequence[Semantics]:
        """Return semantics of instructions, for the simulator."""
        raise NotImplementedError

    @hookspec
    def pyptx_simulator_extensions(self) -> Sequence[SimulatorExtension]:
        """Return simulator extensions: instruction semantics, rules, mutations, descriptors."""
        raise NotImplementedError

    @hookspec
    def pyptx_explanations(self) -> Sequence[Explanation]:
        """Return explanations of a tool's findings, for `pyptx explain`, except codes of `pyptx check`."""
        raise NotImplementedError

    @hookspec
    def pyptx_launch_attributes(self) -> Sequence[LaunchAttribute]:
        """Return launch attributes of the driver for `@kernel(launch={…})`."""
        raise NotImplementedError

    @hookspec
    def pyptx_runtimes(self) -> Sequence[Runtime]:
        """Return runtimes, which run kernels on arrays of one framework."""
        raise NotImplementedError

    @hookspec
    def pyptx_commands(self) -> Sequence[Command]:
        """Return subcommands of the `pyptx` command."""
        raise NotImplementedError

    @hookspec
    def pyptx_sources(self) -> Sequence[SourceFormat]:
        """Return input formats that commands read, and how to extract their PTX modules."""
        raise NotImplementedError

    @hookspec
    def pyptx_sugar_rules(self) -> Sequence[SugarRule]:
        """Return rules for more idiomatic transpiled Python; they apply in this order, before the built-in rules."""
        raise NotImplementedError

    @hookspec
    def pyptx_advice(self) -> Sequence[Advice]:
        """Return explanations of ptxas messages, with hints, for `Kernel.explain` and PtxasAdvisory."""
        raise NotImplementedError

    @hookspec
    def pyptx_doctor_checks(self) -> Sequence[DoctorCheck]:
        """Return checks of `pyptx doctor`."""
        raise NotImplementedError
