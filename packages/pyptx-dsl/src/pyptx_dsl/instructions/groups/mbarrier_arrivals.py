"""Arrivals and tx-count operations of mbarriers: methods of `ptx.mbarrier`.

Manual: "mbarrier.arrive, mbarrier.arrive_drop, mbarrier.expect_tx, mbarrier.complete_tx".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.instructions.groups.wait_forms import SPACE
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["Arrivals"]

_CLUSTER = "shared::cluster"
_ARRIVE = InstructionForms("ptx.mbarrier.arrive", "mbarrier.arrive")
_DROP = InstructionForms("ptx.mbarrier.arrive_drop", "mbarrier.arrive_drop")
_EXPECT = InstructionForms("ptx.mbarrier.expect_tx", "mbarrier.expect_tx")
_COMPLETE = InstructionForms("ptx.mbarrier.complete_tx", "mbarrier.complete_tx")


class Arrivals:
    """Arrivals at an mbarrier, and updates of its tx-count; each method emits one instruction.

    `sem` (`release`, `relaxed`) and `scope` (`cta`, `cluster`) require each other. `space` is `shared::cta`, `shared`,
    or None for a generic address.
    """

    def arrive(
        self,
        mbar: object,
        count: object | None = None,
        *,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive{.sem.scope}.shared::cta.b64 state, [mbar]{, count};` and return `state` (b64)."""
        return _arrive(_ARRIVE, mbar, count, pred, sem=sem, scope=scope, space=space)

    def arrive_drop(
        self,
        mbar: object,
        count: object | None = None,
        *,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive_drop{.sem.scope}.shared::cta.b64 state, [mbar]{, count};`: arrive for the last time."""
        return _arrive(_DROP, mbar, count, pred, sem=sem, scope=scope, space=space)

    @emits("mbarrier.noComplete", release="sem", drop="arrive_drop")
    def arrive_no_complete(
        self,
        mbar: object,
        count: object,
        *,
        release: bool = False,
        drop: bool = False,
        space: str | None = SPACE,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive.noComplete{.release.cta}.shared::cta.b64 state, [mbar], count;`, and return `state`.

        The arrival must not complete the phase. With `drop` it is `arrive_drop`.
        """
        order = {"sem": "release", "scope": "cta"} if release else {}
        return _arrive(_DROP if drop else _ARRIVE, mbar, count, pred, space=space, noComplete=True, **order)

    def arrive_expect_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive.expect_tx{.sem.scope}.shared::cta.b64 state, [mbar], tx_count;`; return `state`."""
        return _arrive(_ARRIVE, mbar, tx_count, pred, sem=sem, scope=scope, space=space, expect_tx=True)

    def arrive_drop_expect_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive_drop.expect_tx{.sem.scope}.shared::cta.b64 state, [mbar], tx_count;`."""
        return _arrive(_DROP, mbar, tx_count, pred, sem=sem, scope=scope, space=space, expect_tx=True)

    @emits("mbarrier", drop="arrive_drop", no_complete="noComplete")
    def arrive_cluster(
        self,
        mbar: object,
        count: object | None = None,
        *,
        tx_count: object | None = None,
        cta_mask: object | None = None,
        drop: bool = False,
        no_complete: bool = False,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = _CLUSTER,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.arrive{.expect_tx}{.sem.scope}.shared::cluster.b64 _, [mbar]{, count};` (sm_90).

        `mbar` is an address in the cluster, as `ptx.cluster.map_shared_u32` returns it; no state is returned. With
        `tx_count` it is `arrive.expect_tx`, without `count`; with `drop`, `arrive_drop`. Another `space` is for an
        mbarrier of the thread's own CTA, without a state; with `no_complete`, like `arrive_no_complete`. `cta_mask`
        arrives at the mbarrier at the same offset in each CTA whose bit is set (PTX 9.4, sm_107f).
        """
        if count is not None and tx_count is not None:
            raise OperandError("mbarrier.arrive.expect_tx has no count: it arrives once")
        words = (_DROP if drop else _ARRIVE).words(
            expect_tx=tx_count is not None,
            noComplete=no_complete,
            sem=sem,
            scope=scope,
            space=space,
            multicast=_multicast(cta_mask),
        )
        numbers = [number for number in (count, tx_count, cta_mask) if number is not None]
        active("ptx.mbarrier.arrive_cluster").emit(words, (tree.Sink(), as_address(mbar), *numbers), pred)

    @emits("mbarrier.expect_tx")
    def expect_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        scope: str | None = "cta",
        space: str | None = SPACE,
        cta_mask: object | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.expect_tx{.relaxed.scope}.space.b64 [mbar], tx_count;`: increase the tx-count (sm_90).

        `space="shared::cluster"` is for an mbarrier of another CTA, and `cta_mask` for those of several CTAs (PTX 9.4).
        """
        _count_bytes(_EXPECT, mbar, tx_count, cta_mask, pred, scope=scope, space=space)

    @emits("mbarrier.complete_tx")
    def complete_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        scope: str | None = "cta",
        space: str | None = SPACE,
        cta_mask: object | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.complete_tx{.relaxed.scope}.space.b64 [mbar], tx_count;`: decrease the tx-count (sm_90)."""
        _count_bytes(_COMPLETE, mbar, tx_count, cta_mask, pred, scope=scope, space=space)


def _multicast(cta_mask: object | None) -> str | None:
    return None if cta_mask is None else "cluster::32b"


def _arrive(
    instruction: InstructionForms, mbar: object, count: object | None, guard: Reg | None, **modifiers: str | bool | None
) -> Reg:
    trace = active(repr(instruction))
    words = instruction.words(**modifiers)
    state = trace.fresh(b64)
    trace.emit(words, (state, as_address(mbar), *(() if count is None else (count,))), guard)
    return state


def _count_bytes(
    instruction: InstructionForms,
    mbar: object,
    tx_count: object,
    cta_mask: object | None,
    guard: Reg | None,
    *,
    scope: str | None,
    space: str | None,
) -> None:
    sem = None if scope is None else "relaxed"
    words = instruction.words(sem=sem, scope=scope, space=space, multicast=_multicast(cta_mask))
    masks = () if cta_mask is None else (cta_mask,)
    active(repr(instruction)).emit(words, (as_address(mbar), tx_count, *masks), guard)
