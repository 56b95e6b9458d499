"""`ptx.clusterlaunchcontrol`: running clusters cancel and take over clusters that are not launched yet (sm_100).

Manual: "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, overload

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_items
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b32, b128
from pyptx_dsl.types import pred as predicate
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.registers.register import Reg

__all__ = ["LaunchControl", "QueryCancel", "clusterlaunchcontrol"]

_AXES = 3
_TRY = InstructionForms("ptx.clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.try_cancel")
_QUERY = "clusterlaunchcontrol.query_cancel"
_FIRST = InstructionForms("ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid", _QUERY)


class QueryCancel:
    """`ptx.clusterlaunchcontrol.query_cancel`: decodes a try_cancel response; each call emits one instruction.

    `response` is a b128 register with the 16 bytes that `try_cancel` wrote, loaded after its mbarrier's phase
    completed.
    """

    @emits("clusterlaunchcontrol.query_cancel.is_canceled", dst="p")
    def is_canceled(self, response: Reg, dst: Reg | None = None, *, pred: Reg | None = None) -> Reg:
        """Emit `….is_canceled.pred.b128 p, response;` and return `p`: whether the request canceled a cluster."""
        trace = active("ptx.clusterlaunchcontrol.query_cancel.is_canceled")
        result = trace.fresh(predicate) if dst is None else dst
        trace.emit((*_QUERY.split("."), "is_canceled", "pred", "b128"), (result, response), pred)
        return result

    @overload
    def get_first_ctaid(
        self,
        response: Reg,
        dst: Sequence[Reg | None] | None = None,
        *,
        dimension: None = None,
        pred: Reg | None = None,
    ) -> tuple[Reg, ...]: ...

    @overload
    def get_first_ctaid(
        self, response: Reg, dst: Reg | None = None, *, dimension: str, pred: Reg | None = None
    ) -> Reg: ...

    @emits("clusterlaunchcontrol.query_cancel", dst="d")
    def get_first_ctaid(
        self,
        response: Reg,
        dst: Reg | Sequence[Reg | None] | None = None,
        *,
        dimension: str | None = None,
        pred: Reg | None = None,
    ) -> Reg | tuple[Reg, ...]:
        """Emit `….get_first_ctaid.v4.b32.b128 {x, y, z, _}, response;`: the index of the cluster's first CTA.

        Return `(x, y, z)`. `dst` has up to three registers, or four to receive a value that the manual leaves
        undefined; None is `_`. With `dimension`, `"x"`, `"y"` or `"z"`, emit `….get_first_ctaid::x.b32.b128 d,
        response;` and return `d`. Undefined if `is_canceled` is false.
        """
        trace = active(repr(_FIRST))
        if dimension is not None:
            axis = dimension if "::" in dimension else f"get_first_ctaid::{dimension}"
            words = _FIRST.words((b32, b128), dimension=axis)
            result = trace.fresh(b32) if dst is None else dst
            trace.emit(words, (result, response), pred)
            return cast("Reg", result)
        given = [trace.fresh(b32) for _ in range(_AXES)] if dst is None else as_items(dst)
        if given is None or len(given) > _AXES + 1:
            raise OperandError(f"{_FIRST!r} writes at most four registers, got {dst!r}", help="pass dst=(x, y, z)")
        padded = [*given, *[None] * (_AXES + 1 - len(given))]
        vector = [tree.Sink() if each is None else each for each in padded]
        trace.emit((*_QUERY.split("."), "get_first_ctaid", "v4", "b32", "b128"), (vector, response), pred)
        return tuple([cast("Reg", each) for each in given if each is not None])


class LaunchControl:
    """`ptx.clusterlaunchcontrol`: each call emits one instruction."""

    query_cancel = QueryCancel()

    @emits("clusterlaunchcontrol.try_cancel", addr="addr", mbar="mbar")
    def try_cancel(
        self,
        addr: object,
        mbar: object,
        *,
        space: str | None = "shared::cta",
        multicast: bool = False,
        pred: Reg | None = None,
    ) -> None:
        """Emit `….try_cancel.async{.space}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [addr], [mbar]`.

        One thread of the cluster requests that a cluster of the grid which is not launched yet be canceled. The
        response, 16 bytes of shared memory at `addr`, aligned to 16 bytes, is written through the async proxy and
        counted by `mbar` (expect 16 bytes). With `multicast`, each CTA of the cluster receives the response at the same
        offset, and its own mbarrier counts the bytes. A fence of the async proxy is required between reading one
        response and requesting the next response into the same bytes.
        After a response with is_canceled = false, no further request is permitted.
        """
        words = _TRY.words(space=space, multicast="cluster::all" if multicast else None)
        active(repr(_TRY)).emit(words, (as_address(addr), as_address(mbar)), pred)


clusterlaunchcontrol = LaunchControl()
