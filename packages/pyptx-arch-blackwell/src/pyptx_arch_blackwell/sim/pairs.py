"""CTA pairs: CTAs of a cluster whose ranks differ in the last bit. Manual: "CTA Pair"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyptx_sim.extension import ExecutionContext, Wave

__all__ = ["PAIR", "Pairing"]

PAIR: Final = "cta-pair"


class Pairing:
    """Checks that all tcgen05 instructions of the simulated CTAs have one `.cta_group`, and that the peer CTA exists.

    Manual: "All tcgen05 instructions within a kernel must specify the same value for the .cta_group qualifier".
    """

    def __init__(self, wave: Wave) -> None:
        """Start without a known `.cta_group`."""
        self._wave = wave
        # Number of CTAs in the first executed .cta_group, and pc of its instruction.
        self._said: tuple[int, int] | None = None

    def holds(self, turn: ExecutionContext, blocks: int) -> bool:
        """Report a `.cta_group` other than the first one of the run; return whether the peer CTA, if needed, exists.

        The peer CTA must have started. Manual: "Issue Granularity".
        """
        known, pc = self._said = self._said or (blocks, turn.pc)
        if known != blocks:
            message = f".cta_group::{blocks} here, .cta_group::{known} earlier in the kernel"
            help = "use one .cta_group in the whole kernel"
            self._wave.report(PAIR, message, turn.pc, other_pc=pc, help=help, cause=blocks)
        if blocks == 1:
            return True
        ranks = self._wave.rank[turn.warps].tolist()
        if all(turn.peers(0, 1 << (rank ^ 1)) for rank in ranks):
            if turn.observed:
                turn.use_blocks(self._wave.geometry.cta[turn.warps] ^ 1)
            return True
        label = f"executed by {turn.warp_name(int(turn.warps[0]))}"
        message, help = ".cta_group::2 without a peer CTA", "launch clusters with an even number of CTAs"
        turn.misuse(PAIR, message, help, label=label)
        return False
