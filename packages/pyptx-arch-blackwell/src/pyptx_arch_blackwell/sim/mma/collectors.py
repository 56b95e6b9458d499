"""Collector buffers, which keep an operand from MMA to MMA. Manual: "tcgen05.mma", `.collector_usage`.

MMAs are computed from memory, because reuse of a buffer is optional. The checks verify that the buffer has the operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pyptx_arch_blackwell.sim.mma.batch import MmaBatch
    from pyptx_sim.extension import ExecutionContext, Operands, Wave

__all__ = ["Collectors", "collecting"]

_RULE: Final = "tcgen05-collector"
_READS: Final = ("use", "lastuse")
_KEEPS: Final = ("fill", "use")


class _Kept(NamedTuple):
    """Contents of a collector buffer: descriptor and extent of the matrix, and pc of the MMA that filled the buffer."""

    matrix: int
    extent: object
    pc: int


def collecting(operands: Operands) -> tuple[tuple[str, str], ...]:
    """Return an MMA's collector buffers, each with its usage (fill, use, lastuse, discard; by default discard)."""
    default = "b0" if "ws" in operands.opcode else "a"
    said = [word.split("::") for word in operands.opcode if word.startswith("collector::")]
    return tuple((buffer, does) for _, buffer, does in said) or ((default, "discard"),)


class Collectors:
    """Contents of the collector buffers, by CTA; a CTA pair's buffers are those of its even CTA."""

    def __init__(self, wave: Wave) -> None:
        """Start with empty buffers."""
        self._wave = wave
        self._kept: dict[tuple[int, str], _Kept] = {}

    def check(self, turn: ExecutionContext, products: MmaBatch, uses: tuple[tuple[str, str], ...]) -> None:
        """Report MMAs that use a collector buffer without their operand in it; record the buffers' new contents."""
        plan = products.plan
        for number, block in enumerate(products.blocks.tolist()):
            for buffer, does in uses:
                factor, extent = (products.a, plan.a) if buffer == "a" else (products.b, plan.b)
                now = _Kept(int(factor[number]), extent, turn.pc)
                if does in _READS:
                    self._expect(now, self._kept.get((block, buffer)), buffer, does)
                if does in _KEEPS:
                    self._kept[block, buffer] = now
                else:
                    self._kept.pop((block, buffer), None)

    def _expect(self, now: _Kept, kept: _Kept | None, buffer: str, does: str) -> None:
        """Report `.collector::…::use` or `lastuse` of a buffer that does not hold the MMA's matrix."""
        use = f".collector::{buffer}::{does}, but the collector buffer"
        help = f"issue an MMA with .collector::{buffer}::fill and the same matrix first"
        if kept is None:
            self._wave.report(_RULE, f"{use} is empty", now.pc, help=help)
        elif kept[:2] != now[:2]:
            message, label = f"{use} holds another matrix", "MMA with that matrix"
            self._wave.report(_RULE, message, now.pc, other_pc=kept.pc, other_label=label, help=help)
