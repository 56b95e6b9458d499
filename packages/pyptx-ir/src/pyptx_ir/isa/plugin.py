"""The built-in plugin with NVIDIA's data, registered with the same hooks as third-party plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.marker import hookimpl
from pyptx_ir.plugins.version import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.check_rows import CheckCode, CheckRule
    from pyptx_ir.isa.kinds.kind import Kind
    from pyptx_ir.isa.matrix_rows import Element, MatrixMove
    from pyptx_ir.isa.memory_rows import Memory
    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_ir.plugins.explanation_rows import Explanation
    from pyptx_ir.plugins.rows import Command, Fragments
    from pyptx_ir.plugins.source_rows import SourceFormat


@hookimpl
def pyptx_api_version() -> int:
    """Return the plugin API version of the built-in plugin, which is always the current one."""
    return API_VERSION


@hookimpl
def pyptx_targets() -> Sequence[TargetRow]:
    """Return the rows of NVIDIA's targets."""
    from pyptx_ir.isa.target_rows import TARGETS

    return TARGETS


@hookimpl
def pyptx_instructions() -> Sequence[InstructionRow]:
    """Return the instruction rows of every chapter of the manual."""
    from pyptx_ir.isa.table.chapters import ROWS

    return ROWS


@hookimpl
def pyptx_operand_kinds() -> Sequence[Kind]:
    """Return the operand kinds of NVIDIA's rows."""
    from pyptx_ir.isa.kinds.table import KINDS

    return KINDS


@hookimpl
def pyptx_memories() -> Sequence[Memory]:
    """Return shared memory, the memory of a CTA on every target."""
    from pyptx_ir.isa.memory_rows import MEMORIES

    return MEMORIES


@hookimpl
def pyptx_elements() -> Sequence[Element]:
    """Return NVIDIA's matrix element types."""
    from pyptx_ir.isa.matrix_rows import ELEMENTS

    return ELEMENTS


@hookimpl
def pyptx_matrix_moves() -> Sequence[MatrixMove]:
    """Return the matrix moves of ldmatrix, by shape and element types."""
    from pyptx_ir.fragments.moves import MOVES

    return MOVES


@hookimpl
def pyptx_fragments() -> Sequence[Fragments]:
    """Return the fragments of warp-level MMA."""
    from pyptx_ir.fragments.table import FRAGMENTS

    return FRAGMENTS


@hookimpl
def pyptx_check_codes() -> Sequence[CheckCode]:
    """Return the error codes of `pyptx check` for NVIDIA's PTX."""
    from pyptx_ir.isa.modules.codes import CODES

    return CODES


@hookimpl
def pyptx_check_rules() -> Sequence[CheckRule]:
    """Return the rules of `pyptx check` for NVIDIA's PTX, in order of application."""
    from pyptx_ir.isa.modules.rules import RULES

    return RULES


@hookimpl
def pyptx_explanations() -> Sequence[Explanation]:
    """Return the explanation of an unused entry of a suppressions file."""
    from pyptx_ir.plugins.explanation_rows import Explanation
    from pyptx_ir.suppressions import UNUSED, UNUSED_HELP

    summary = "an entry of the suppressions file matches no finding of a run that contains its code"
    return (Explanation(UNUSED, "--suppressions", "warning", summary, UNUSED_HELP),)


@hookimpl
def pyptx_commands() -> Sequence[Command]:
    """Return the subcommands of `pyptx` that need only the core."""
    from pyptx_ir.commands import built_in

    return built_in()


@hookimpl
def pyptx_sources() -> Sequence[SourceFormat]:
    """Return the input formats: PTX, listings, images, and other languages, which are rejected with an error."""
    from pyptx_ir.sources.texts import FORMATS
    from pyptx_ir.toolchain.images import FORMAT

    return (*FORMATS, FORMAT)
