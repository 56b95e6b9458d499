"""`ptx.setmaxnreg`, `ptx.elect_sync` and `ptx.griddepcontrol`.

Manual: "setmaxnreg", "elect.sync", "griddepcontrol".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.registers.operands import PipeRef, as_integer
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred as predicate
from pyptx_dsl.types import u32

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["GridDependencies", "elect_sync", "griddepcontrol", "setmaxnreg", "setmaxnreg_dec", "setmaxnreg_inc"]

_FEWEST, _MOST, _STEP = 24, 256, 8


def setmaxnreg(count: int, *, inc: bool = True, pred: Reg | None = None) -> None:
    """Emit `setmaxnreg.inc.sync.aligned.u32 count;` (or `.dec`): set the registers per thread of the warpgroup.

    `count` is 24 to 256 in steps of 8. `inc` waits until the CTA's pool has enough registers. If ptxas cannot determine
    the register count at entry, it ignores the instruction and reports a PtxasAdvisory. `.maxnreg` determines the
    count, as does `.maxntid` with `.minnctapersm`: `raw_directives=[("maxntid", (384, 1, 1)), ("minnctapersm", (1,))]`.
    """
    number = as_integer(count)
    if number is None or not _FEWEST <= number <= _MOST or number % _STEP:
        raise OperandError(
            f"invalid register count {count!r} of setmaxnreg", help=f"use {_FEWEST} to {_MOST} in steps of {_STEP}"
        )
    words = ("setmaxnreg", "inc" if inc else "dec", "sync", "aligned", "u32")
    active("ptx.setmaxnreg").emit(words, (number,), pred)


def setmaxnreg_inc(n: int, *, pred: Reg | None = None) -> None:
    """Emit `setmaxnreg.inc.sync.aligned.u32 n;`; see `setmaxnreg`."""
    setmaxnreg(n, inc=True, pred=pred)


def setmaxnreg_dec(n: int, *, pred: Reg | None = None) -> None:
    """Emit `setmaxnreg.dec.sync.aligned.u32 n;`; see `setmaxnreg`."""
    setmaxnreg(n, inc=False, pred=pred)


@emits("elect.sync", pred_out="|")
def elect_sync(
    dst: Reg | None = None, pred_out: Reg | None = None, membermask: object = -1, *, pred: Reg | None = None
) -> Reg:
    """Emit `elect.sync d|p, membermask;` and return `p`: true in one lane of the warp, whose index is `d`.

    Missing registers are declared.
    """
    trace = active("ptx.elect_sync")
    lane = trace.fresh(u32) if dst is None else dst
    elected = trace.fresh(predicate) if pred_out is None else pred_out
    trace.emit(("elect", "sync"), (PipeRef(lane, elected), membermask), pred)
    return elected


class GridDependencies:
    """`ptx.griddepcontrol`: programmatic dependent launch; each call emits one instruction.

    Launch the dependent kernel with `launch={"programmatic_stream_serialization": True}`.
    """

    def launch_dependents(self, *, pred: Reg | None = None) -> None:
        """Emit `griddepcontrol.launch_dependents;`: this CTA permits the dependent grids to start."""
        active("ptx.griddepcontrol.launch_dependents").emit(("griddepcontrol", "launch_dependents"), (), pred)

    def wait(self, *, pred: Reg | None = None) -> None:
        """Emit `griddepcontrol.wait;`: wait until prerequisite grids have completed and their writes are visible."""
        active("ptx.griddepcontrol.wait").emit(("griddepcontrol", "wait"), (), pred)


griddepcontrol = GridDependencies()
