"""Common parts of bulk and tensor copies: destinations, mbarriers, checks and issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_arch_hopper.sim.tma.bulk import IssuedCopy, Narrowing, Transfer
from pyptx_arch_hopper.sim.tma.groups import BULK
from pyptx_arch_hopper.sim.tma.touches import touches
from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.extension import ASYNC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_arch_hopper.sim.tma.bulk import Elements
    from pyptx_sim.extension import AsyncAccess, ExecutionContext, Operands, Origin, Reader

_PAIR = 2  # number of CTAs in a CTA pair, whose ranks in the cluster differ only in the last bit

Issued: TypeAlias = "tuple[IssuedCopy, Sequence[AsyncAccess]]"
"""A thread's bulk copy, and its memory accesses for the race checks."""


def mask_of(operands: Operands) -> Reader | None:
    """Return the function that reads a multicast's CTA mask; None for a copy without multicast."""
    for name, ptx_type in (("cta_mask", "u16"), ("cta_mask_32", "u32")):
        if name in operands.names:
            return operands.source(name, ptx_type)
    return None


def aims(turn: ExecutionContext, place: int, mask: int | None) -> tuple[int, ...]:
    """Return, for each destination CTA of a thread's copy, the destination's offset from the shared address `place`."""
    return (0,) if mask is None else turn.peers(place, mask)


def issue(turn: ExecutionContext, copies: Iterable[Issued | None]) -> None:
    """Issue the bulk copies of threads; None is a thread without a copy."""
    turn.issue_all([copy for copy in copies if copy is not None], proxy=ASYNC)


def prepare(
    turn: ExecutionContext,
    transfer: Transfer,
    size: int,
    *,
    barriers: tuple[int, ...] = (),
    map_at: int | None = None,
    paired: bool = False,
) -> Issued | None:
    """Return a thread's copy of `size` bytes, after its checks; each of `barriers` counts its bytes.

    `map_at` is the offset of the copy's tensor map if the map is in global memory. `paired`: the mbarriers may be in
    the peer CTA. Return None for a multicast without destinations.
    """
    if not transfer.targets:
        return None
    if turn.checked:
        if isinstance(transfer, Narrowing):
            _check_written(turn, transfer.source)
        else:
            transfer.origin = _check_undefined(turn, transfer)
        _check_barrier(turn, transfer.targets[0], barriers, paired=paired)
    warps, lanes = turn.threads
    copy = IssuedCopy(
        wave=turn.wave,
        pc=turn.pc,
        warps=warps,
        lanes=lanes,
        group=None if barriers else BULK,
        numbers=np.zeros(1, np.int64) if barriers else turn.join(BULK),
        transfer=transfer,
        barriers=barriers,
        size=size,
    )
    return copy, touches(copy, map_at) if turn.observed else ()


def completed_only(
    turn: ExecutionContext, size: int, barriers: tuple[int, ...], target: Elements | None = None
) -> Issued:
    """Return a thread's copy with an invalid address: it counts its bytes at the mbarriers, and moves none.

    The elements of a valid `target` become zero. So a checked run continues after the finding: threads do not wait
    for an mbarrier forever, and do not read undefined values.
    """
    warps, lanes = turn.threads
    transfer = None
    if target is not None:
        zeros = np.zeros(target.index.shape, target.dtype)
        transfer = Transfer(source=target, targets=(target,), fill=zeros, fills=True, values=zeros)
    copy = IssuedCopy(
        wave=turn.wave,
        pc=turn.pc,
        warps=warps,
        lanes=lanes,
        group=None,
        numbers=np.zeros(1, np.int64),
        transfer=transfer,
        barriers=barriers,
        size=size,
    )
    return copy, ()


def _name(turn: ExecutionContext) -> str:
    (warps, lanes) = turn.threads
    return turn.thread_name(int(warps[0]), int(lanes[0]))


def signalled(
    turn: ExecutionContext, place: int, barrier: int, shifts: tuple[int, ...], *, paired: bool
) -> tuple[int, ...]:
    """Return the mbarrier of each destination CTA; the copy's destinations are `place` plus each of `shifts`.

    The mbarrier is in the destination CTA. If `paired`, it is in the CTA of the destination's pair whose rank has the
    parity of the named mbarrier's CTA.
    """
    if not paired:
        return tuple(barrier + shift for shift in shifts)
    stride = turn.wave.shared.stride
    named, inside = divmod(barrier, stride)
    blocks = (place // stride + shift // stride for shift in shifts)
    return tuple((block // _PAIR * _PAIR + named % _PAIR) * stride + inside for block in blocks)


def _check_barrier(turn: ExecutionContext, target: Elements, barriers: tuple[int, ...], *, paired: bool) -> None:
    """Report an mbarrier in another CTA than the destination. Manual: "cp.async.bulk.tensor", `.cta_group`."""
    stride = turn.wave.shared.stride * (_PAIR if paired else 1)
    if not barriers or int(target.offsets[0]) // stride == barriers[0] // stride:
        return
    turn.report(
        "mbarrier-wrong-cta",
        f"bulk copy destination and {turn.mbarrier_name(barriers[0])} are in different CTAs",
        label=f"copy issued by {_name(turn)}",
        help="use an mbarrier of the destination CTA (with .cta_group::2, of its CTA pair)",
    )


def _check_undefined(turn: ExecutionContext, transfer: Transfer) -> Origin | None:
    """Return the `Origin` of undefined bits that a copy moves or adds to; report the bits that the host can read."""
    known, origin = transfer.known, None
    sides = (
        {"read": transfer.source}
        if transfer.update is None
        else {"read": transfer.source, "reduction": transfer.targets[0]}
    )
    for done, every in sides.items():
        side, into = (each if known is None else each.chosen(known) for each in (every, transfer.targets[0]))
        bits = side.undefined()
        if bits is None:
            continue
        missing = bits.any(axis=1)
        seen = missing & turn.host_sees(into.space, into.offsets)
        first = int(side.offsets[int((seen if seen.any() else missing).argmax())])
        what, label = _described(turn, side, first), f"{done} by bulk copy of {_name(turn)}"
        if seen.any():
            turn.undefined(side.space, first, what, int(np.count_nonzero(seen)), label=label)
        origin = turn.origin(side.space, first, what, label=label)
    return origin


def _described(turn: ExecutionContext, side: Elements, offset: int) -> str:
    """Return, as text, the size and location of an element in a copy's source or target."""
    return f"{counted(side.dtype.itemsize, 'byte')} at {turn.memory(side.space).describe_offset(offset)}"


def _check_written(turn: ExecutionContext, source: Elements) -> None:
    """Report uninitialized bytes in elements whose bits a copy repacks."""
    bits = source.undefined()
    if bits is not None:
        missing = source.offsets[bits.any(axis=1)]
        what = _described(turn, source, int(missing[0]))
        label = f"read by bulk copy of {_name(turn)}"
        turn.undefined(source.space, int(missing[0]), what, len(missing), label=label)
