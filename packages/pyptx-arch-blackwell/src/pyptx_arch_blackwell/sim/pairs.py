"""CTA pairs: CTAs of a cluster whose ranks differ in the last bit. Manual: "CTA Pair"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyptx_sim.extension import Turn, Wave

__all__ = ["PAIR", "Pairing"]

PAIR: Final = "cta-pair"
_WORDS: Final = {1: "one block", 2: "a pair"}


class Pairing:
    """Check that the instructions of a wave have one `.cta_group`, and that the peer CTA exists.

    Manual: "All tcgen05 instructions within a kernel must specify the same value for the .cta_group qualifier".
    """

    def __init__(self, wave: Wave) -> None:
        """Start without a known `.cta_group`."""
        self._wave = wave
        self._said: tuple[int, int] | None = None  # number of CTAs, and the first instruction

    def holds(self, turn: Turn, blocks: int) -> bool:
        """Report an instruction with another .cta_group than before; return whether its `blocks` CTAs exist.

        The peer CTA must have started. Manual: "Issue Granularity".
        """
        known, pc = self._said = self._said or (blocks, turn.pc)
        if known != blocks:
            message = f"an instruction for {_WORDS[blocks]} (.cta_group::{blocks}), and one for {_WORDS[known]} before"
            help = "name the same .cta_group in all tcgen05 instructions of a kernel"
            self._wave.report(PAIR, message, turn.pc, other_pc=pc, help=help, cause=blocks)
        if blocks == 1:
            return True
        ranks = self._wave.rank[turn.warps].tolist()
        if all(turn.peers(0, 1 << (rank ^ 1)) for rank in ranks):
            if turn.observed:
                turn.use_blocks(self._wave.geometry.cta[turn.warps] ^ 1)
            return True
        message = "an instruction for a pair of blocks, and the cluster lacks the other one"
        turn.misuse(PAIR, message, "launch it in clusters of an even number of blocks")
        return False
