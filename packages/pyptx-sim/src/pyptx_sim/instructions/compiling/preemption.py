"""Code for random schedules: basic blocks are split into parts, between which other warps may run.

A part ends before an instruction with an effect visible to other threads, if the part already has such an effect.
Instructions that only compute commute with all operations of other threads and need no part of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyptx_sim.extension.registry import step_of
from pyptx_sim.program.flow import converges, is_gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.machine.scheduling.code import Block, Code
    from pyptx_sim.program.program import Program

_SEEN: Final = frozenset({"access", "issue", "order"})
# Spaces that are private to a thread or constant during a launch. Manual: "State Spaces".
_PRIVATE: Final = frozenset({"const", "local", "param"})


def in_parts(program: Program, code: Code, *, lanes_apart: bool = False) -> Code:
    """Return a compiled program with its basic blocks split into parts; the first part keeps the block's index.

    `lanes_apart`: some lanes of a warp may execute a part before other lanes, except in polling loops. MMAs of
    warpgroups stay in one part with the preceding instructions, since the warps of a warpgroup must stay together.
    """
    parts: list[Block] = []
    firsts: list[Block] = []
    for block in code:
        first, *others = _parts(program, block, len(code) + len(parts), lanes_apart and block.polls is None)
        firsts.append(first)
        parts += others
    return (*firsts, *parts)


def _parts(program: Program, block: Block, index: int, lanes_apart: bool) -> Iterator[Block]:  # noqa: FBT001 - `in_parts`'s
    """Yield the parts of a basic block, as blocks; parts after the first have block indices from `index` on."""
    starts = [0, *_starts(program, block)]
    ends = [*starts[1:], len(block.steps)]
    gathering = [place for place, (pc, _) in enumerate(block.steps) if is_gate(program.sites[pc].instruction.opcode)]
    last_gate = max(gathering, default=-1)  # the lanes of a warp must execute all steps up to the last gate together
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        steps, last = block.steps[start:end], end == len(block.steps)
        yield replace(
            block,
            index=block.index if number == 0 else index + number - 1,
            first=steps[0][0] if number else block.first,
            steps=steps,
            end=block.end if last else steps[-1][0],
            terminator=block.terminator if last else None,
            following=block.following if last else index + number,
            gate=None if number else block.gate,
            converges=block.converges and any(_of_warpgroup(program, pc) for pc, _ in steps),
            resumes=number > 0,
            may_diverge=lanes_apart and start > last_gate and (block.gate is None or number > 0),
        )


def _starts(program: Program, block: Block) -> Iterator[int]:
    """Yield the index, within the basic block, of the first instruction of each part after the first part."""
    seen = False
    for place, (pc, _) in enumerate(block.steps):
        if not _is_seen(program.sites[pc].instruction.opcode):
            continue
        if seen and not _of_warpgroup(program, pc):
            yield place
        seen = True


def _is_seen(opcode: tuple[str, ...]) -> bool:
    """Return whether an instruction has an effect that is visible to other threads."""
    step = step_of(opcode)
    return step is not None and step.effect in _SEEN and _PRIVATE.isdisjoint(word.partition("::")[0] for word in opcode)


def _of_warpgroup(program: Program, pc: int) -> bool:
    return converges(program.sites[pc].instruction.opcode) == "warpgroup"
