"""`ptx.setmaxnreg`, `ptx.elect_sync`, `ptx.griddepcontrol`: what warps and grids tell the machine.

Manual: "setmaxnreg", "elect.sync", "griddepcontrol".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.emission import emits
from pyptx_dsl.registers.operands import PipeRef, as_integer
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred as predicate
from pyptx_dsl.types import u32

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["GridDependencies", "elect_sync", "griddepcontrol", "setmaxnreg", "setmaxnreg_dec", "setmaxnreg_inc"]

_FEWEST, _MOST, _STEP = 24, 256, 8


def setmaxnreg(count: int, *, inc: bool = True, pred: Reg | None = None) -> None:
    """Emit `setmaxnreg.inc.sync.aligned.u32 count;` (or `.dec`): how many registers each thread of the warpgroup has.

    `count` is 24 to 256 in steps of 8. `inc` waits until the block's pool has so many. Where ptxas cannot tell how many
    there are at entry, it ignores the instruction, and says so in a PtxasAdvisory. `.maxnreg` tells it, or `.maxntid`
    with `.minnctapersm`: `raw_directives=[("maxntid", (384, 1, 1)), ("minnctapersm", (1,))]`.
    """
    number = as_integer(count)
    if number is None or not _FEWEST <= number <= _MOST or number % _STEP:
        raise OperandError(
            f"setmaxnreg cannot set {count!r} registers", hint=f"{_FEWEST} to {_MOST} in steps of {_STEP}"
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
    """Emit `elect.sync d|p, membermask;` and return `p`: true in one lane of the warp, whose number is `d`.

    Registers that are not given are declared.
    """
    trace = active("ptx.elect_sync")
    lane = trace.fresh(u32) if dst is None else dst
    elected = trace.fresh(predicate) if pred_out is None else pred_out
    trace.emit(("elect", "sync"), (PipeRef(lane, elected), membermask), pred)
    return elected


class GridDependencies:
    """`ptx.griddepcontrol`: programmatic dependent launch; each call emits one instruction.

    The later kernel is launched with `launch={"programmatic_stream_serialization": True}`.
    """

    def launch_dependents(self, *, pred: Reg | None = None) -> None:
        """Emit `griddepcontrol.launch_dependents;`: as far as this block is concerned, the next grid may start."""
        active("ptx.griddepcontrol.launch_dependents").emit(("griddepcontrol", "launch_dependents"), (), pred)

    def wait(self, *, pred: Reg | None = None) -> None:
        """Emit `griddepcontrol.wait;`: until the grids in front have ended and what they wrote can be read."""
        active("ptx.griddepcontrol.wait").emit(("griddepcontrol", "wait"), (), pred)


griddepcontrol = GridDependencies()
