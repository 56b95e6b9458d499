"""Kinds of async-groups: asynchronous operations that threads commit to groups and wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pyptx_sim.extension.rule import Severity

__all__ = ["WARP", "WARPGROUP", "GroupKind"]

WARP: Final = 32
"""Number of lanes of a warp."""

WARPGROUP: Final = 4
"""Number of warps of a warpgroup; the index of the first warp in the CTA is a multiple of 4. Manual: "Warpgroup"."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupKind:
    """A kind of async-group; each thread has its own groups of every kind. Manual: "Async-group mechanism".

    - `name`, `operations` ("cp.async copies"): text for messages.
    - `unfinished`: rule that a thread breaks if it exits without a wait; the extension must define it.
    - `issued_by`: whether a `lane` or the four warps of a `warpgroup` issue one operation together.
    - `tells`: with `warp`, a wait orders all operations of the warp before the waiting lanes, if all lanes of the warp
      issue and wait together. With `lanes`, a wait orders only each lane's own operations.
    - `reads`: threads can wait for the source reads alone, and must wait at least for these reads.
    - `pipelined`: operations are performed in issue order if the issues themselves are ordered. Such an operation needs
      no wait for earlier operations of the same kind.
    - `severity`: severity of a missing wait, if it differs from that of rule `unfinished`.
    - `wait`: the wait instruction, for help texts: "cp.async.wait_group".
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
        """Number of warps that issue an operation together."""
        return WARPGROUP if self.issued_by == "warpgroup" else 1
