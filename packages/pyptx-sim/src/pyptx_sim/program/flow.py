"""Basic blocks: their first and last instructions, and their successors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.check import forms_of
from pyptx_ir.plugins.caches import until_plugins_change
from pyptx_ir.syntax.operand_names import names_of
from pyptx_sim.extension.registry import step_of
from pyptx_sim.program.program import BlockRange
from pyptx_sim.program.scopes import LabelBinding, TargetsBinding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_ir.isa.patterns import Pattern
    from pyptx_sim.extension.step import Converges
    from pyptx_sim.program.program import FunctionLayout, Program, Site

_BRANCHES: Final = frozenset({"bra", "brx"})
_ENDS: Final = frozenset({"ret", "exit", "trap"})


def waits_alone(opcode: tuple[str, ...]) -> bool:
    """Return whether an instruction may wait or be executed again, and therefore forms its own basic block."""
    step = step_of(opcode)
    return step is not None and step.blocks


def ends_block(opcode: tuple[str, ...]) -> bool:
    """Return whether an instruction ends its basic block (a terminator)."""
    step = step_of(opcode)
    return step is not None and step.end is not None


@until_plugins_change(maxsize=1 << 12)
def converges(opcode: tuple[str, ...]) -> Converges:
    """Return which threads must execute an instruction together: `lanes` of the membermask, a `warp`, a `warpgroup`.

    An empty string: none.
    """
    step = step_of(opcode)
    if step is not None and step.converges is not None:
        return step.converges
    if "sync" not in opcode[1:] and "aligned" not in opcode[1:]:
        return ""
    return "lanes" if any(_names_lanes(pattern) for pattern, _ in forms_of(opcode)) else "warp"


def _names_lanes(pattern: Pattern) -> bool:
    return bool(pattern.places) and pattern.places[-1].name == "membermask"


def is_gate(opcode: tuple[str, ...]) -> bool:
    """Return whether lanes of a warp wait for each other before they execute an instruction, such as `shfl.sync`."""
    return converges(opcode) != ""


def meets(opcode: tuple[str, ...]) -> bool:
    """Return whether an instruction orders earlier accesses of its lanes before later accesses of the same lanes."""
    step = step_of(opcode)
    return step is not None and step.synchronizes_warp


def gathers_warp(opcode: tuple[str, ...]) -> bool:
    """Return whether an instruction waits until all lanes of a warp or warpgroup have converged."""
    return converges(opcode) in {"warp", "warpgroup"}


def basic_blocks(
    functions: Iterable[FunctionLayout], sites: Sequence[Site], label_pcs: Iterable[int]
) -> tuple[BlockRange, ...]:
    """Split the functions' instructions into basic blocks, numbered in program order."""
    leaders = set(label_pcs)
    bodies = [function.body for function in functions if function.body]
    leaders.update(body.start for body in bodies)
    leaders.update(body.stop for body in bodies)
    together = False  # whether all lanes have converged at an earlier instruction of this basic block
    for site in sites:
        opcode = site.instruction.opcode
        together = together and site.pc not in leaders
        if waits_alone(opcode) or (is_gate(opcode) and not (together and gathers_warp(opcode))):
            leaders.add(site.pc)
            together = gathers_warp(opcode)
        if ends_block(opcode):
            leaders.add(site.pc + 1)
    bounds = sorted(leaders)
    blocks: list[BlockRange] = []
    for first, last in pairwise(bounds):
        opcode = sites[last - 1].instruction.opcode
        gate = is_gate(sites[first].instruction.opcode)
        together = any(converges(site.instruction.opcode) == "warpgroup" for site in sites[first:last])
        blocks.append(BlockRange(len(blocks), first, last, ends_block(opcode), gate, together))
    return tuple(blocks)


def successors(program: Program, block: BlockRange) -> frozenset[int]:
    """Return the indices of the basic blocks of the same function that may execute directly after `block`."""
    last = program.sites[block.last - 1]
    opcode, guarded = last.instruction.opcode[0], last.instruction.guard is not None
    following = () if opcode in _BRANCHES | _ENDS and not guarded else (block.index + 1,)
    return frozenset(following).union(_branched(program, last) if opcode in _BRANCHES else ())


def _branched(program: Program, site: Site) -> Iterator[int]:
    """Yield the indices of the basic blocks that a branch names, directly or in its `.branchtargets` list."""
    for name in (name for operand in site.instruction.operands for name in names_of(operand)):
        found = site.scope.find(name)
        labels = found.names if isinstance(found, TargetsBinding) else (name,)
        for label in map(site.scope.find, labels):
            if isinstance(label, LabelBinding):
                yield program.label_block(label.key)
