"""Groups of asynchronous operations, by which threads wait for what they have issued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pyptx_sim.extension.rule import Severity

__all__ = ["WARP", "WARPGROUP", "GroupKind"]

WARP: Final = 32
"""Lanes of a warp."""

WARPGROUP: Final = 4
"""Warps of a warpgroup; the first one's number in its CTA is a multiple of it. Manual: "Warpgroup"."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupKind:
    """A kind of groups; each thread has its own of every kind. Manual: "Async-group mechanism".

    `name` and `operations` ("copies (cp.async)") are for messages; a thread that ends without having waited breaks the
    rule `unfinished`, which the extension has to have. `issued_by` is who issues one operation together: a `lane`, or
    the four warps of a `warpgroup`. `tells`: a wait orders all operations of a `warp` for the lanes that wait, if all
    of its lanes issue and wait together; or it orders each of the `lanes` after its own operations only. `reads`: it
    can be waited for as far as its sources go, and has to be so far. `pipelined`: what threads issue is performed in
    the order in which they do so, if that is ordered itself: such an operation need not wait for earlier ones of the
    kind. `severity` is that of not having waited, if it isn't the rule's. `wait` says how to, for the hint of what is
    touched too early: "cp.async.wait_group".
    """

    name: str
    operations: str
    unfinished: str
    issued_by: Literal["lane", "warpgroup"] = "lane"
    tells: Literal["warp", "lanes"] = "warp"
    reads: bool = False
    pipelined: bool = False
    severity: Severity | None = None
    wait: str | None = None

    @property
    def together(self) -> int:
        """How many warps issue an operation as one."""
        return WARPGROUP if self.issued_by == "warpgroup" else 1
