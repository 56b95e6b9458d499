"""`ptx.cp.async_.bulk.tensor…`: copies of TMA boxes between tensors in global memory and shared memory.

Manual: "Data Movement and Conversion Instructions: Tensor copy": cp.async.bulk.tensor, cp.reduce.async.bulk.tensor,
cp.async.bulk.prefetch.tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_arch_hopper.ptx.operands import present
from pyptx_dsl.contract.tensors import TensorSpec
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_integer, lower
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.tracing.trace import Trace

__all__ = ["Coordinates", "Elsewhere", "TensorMapAddress", "load_box", "prefetch_box", "store_box"]

Coordinates: TypeAlias = Sequence[object]
"""Coordinates of a box's first element, innermost dimension first: numbers or 32-bit registers."""
TensorMapAddress: TypeAlias = Reg | TensorSpec | str
"""Tensor map operand: the tensor, a register with the map's generic address (`X.tma_desc()`), or a symbol."""

Elsewhere: TypeAlias = Reg | Sequence[object]
"""Address that replaces the address in the tensor map, or a tuple of address and sizes, or with strides, too."""

_WITH_SIZES = 2
_ROWS_OF_GATHER = 5  # number of coordinates of a tile::gather4 copy: one column and four rows


def load_box(
    what: str,
    rank: int,
    dst: object,
    src: TensorMapAddress,
    coord: Coordinates,
    mbar: object,
    *,
    mode: str | None = None,
    offsets: Coordinates = (),
    space: str = "shared::cluster",
    multicast_mask: object | None = None,
    multicast: str | None = "cluster",
    cta_group: int | None = None,
    cache_hint: Reg | None = None,
    report: str | None = None,
    address: Elsewhere | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit one `cp.async.bulk.tensor` from global to shared memory."""
    words = _words(
        what,
        "cp.async.bulk.tensor",
        rank,
        space=space,
        source_space="global",
        mode=mode,
        report=report,
        multicast=None if multicast_mask is None else multicast,
        group=_group(what, cta_group),
        cache_hint=cache_hint is not None,
        **_overridden(address),
    )
    if mbar is None:
        raise OperandError(f"{what} needs the mbarrier that tracks its bytes", help="pass mbar=")
    trace = active(what)
    box = _box(trace, what, rank, src, coord, mode, address)
    operands = (as_address(dst), box, as_address(mbar), *_offsets(what, rank, offsets, mode))
    trace.emit(words, (*operands, *present(multicast_mask, cache_hint)), pred)


def store_box(
    what: str,
    rank: int,
    dst: TensorMapAddress,
    src: object,
    coord: Coordinates,
    *,
    reduce: str | None = None,
    mode: str | None = None,
    cache_hint: Reg | None = None,
    address: Elsewhere | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit one `cp.async.bulk.tensor` from shared to global memory; with `reduce`, `cp.reduce.async.bulk.tensor`."""
    words = _words(
        what,
        "cp.async.bulk.tensor" if reduce is None else "cp.reduce.async.bulk.tensor",
        rank,
        space="global",
        source_space="shared::cta",
        op=reduce,
        mode=mode,
        cache_hint=cache_hint is not None,
        **_overridden(address),
    )
    trace = active(what)
    box = _box(trace, what, rank, dst, coord, mode, address)
    trace.emit(words, (box, as_address(src), *present(cache_hint)), pred)


def prefetch_box(
    what: str,
    rank: int,
    src: TensorMapAddress,
    coord: Coordinates,
    *,
    head: str = "cp.async.bulk.prefetch.tensor",
    evict: str | None = None,
    space: str | None = None,
    mode: str | None = None,
    offsets: Coordinates = (),
    cache_hint: Reg | None = None,
    address: Elsewhere | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit one `cp.async.bulk.prefetch.tensor` into L2, or the instruction `head` on a box of a tensor."""
    words = _words(
        what,
        head,
        rank,
        space=space,
        mode=mode,
        evict_l2=evict,
        cache_hint=cache_hint is not None,
        **_overridden(address),
    )
    trace = active(what)
    box = _box(trace, what, rank, src, coord, mode, address)
    trace.emit(words, (box, *_offsets(what, rank, offsets, mode), *present(cache_hint)), pred)


def _words(what: str, head: str, rank: int, **modifiers: str | bool | None) -> tuple[str, ...]:
    """Return the opcode and modifiers of a copy of boxes with `rank` dimensions."""
    return _instruction(what, f"{head}.{rank}d").words(**modifiers)


_instruction = cache(InstructionForms)


def _between(elsewhere: Elsewhere | None) -> tuple[object, ...]:
    """Return the operands that override tensor map fields; they precede the coordinates."""
    return () if elsewhere is None else (elsewhere,) if isinstance(elsewhere, Reg) else tuple(elsewhere)


def _overridden(elsewhere: Elsewhere | None) -> dict[str, bool]:
    """Return the `.override` modifiers of a copy: of the address, of the sizes, or of sizes and strides."""
    count = len(_between(elsewhere))
    return {
        "override_global_address": count > 0,
        "override_global_dim": count == _WITH_SIZES,
        "override_global_dim_stride": count > _WITH_SIZES,
    }


def _group(what: str, cta_group: object | None) -> str | None:
    """Return the number after `.cta_group::` of a tensor copy, "1" or "2"; None without this modifier."""
    if cta_group is not None and as_integer(cta_group) not in {1, 2}:
        raise OperandError(f"{what}: cta_group must be 1 or 2, got {cta_group!r}")
    return None if cta_group is None else str(as_integer(cta_group))


def _box(
    trace: Trace,
    what: str,
    rank: int,
    tensor: TensorMapAddress,
    coord: Coordinates,
    mode: str | None,
    elsewhere: Elsewhere | None,
) -> tree.TensorAddress:
    """Return the operand `[map{, address}, {c0, c1, …}]`; raise OperandError for a wrong number of coordinates."""
    count = _ROWS_OF_GATHER if mode in {"tile::gather4", "tile::scatter4"} else rank
    given = [coord] if isinstance(coord, Reg) else list(coord)
    if len(given) != count:
        rows = " (one column, four rows)" if count != rank else ""
        raise OperandError(
            f"{what} needs {count} coordinates{rows}, got {len(given)}",
            help="pass the innermost coordinate first: coord=(column, row)",
        )
    address = tensor.tma_desc() if isinstance(tensor, TensorSpec) else tensor
    if isinstance(address, Reg) and address.dtype.bits != u64.bits:
        raise RegisterTypeError(
            f"{what}: expected a tensor map, got the {address.dtype} register {address.raw_name}",
            help="pass the tensor, or its tma_desc()",
        )
    parts = [lower(each, trace) for each in (address, *_between(elsewhere))]
    return tree.TensorAddress((*parts, tree.Vector(tuple([lower(each, trace) for each in given]))))


def _offsets(what: str, rank: int, offsets: Coordinates, mode: str | None) -> tuple[list[object], ...]:
    """Return the operand with the offsets of an im2col copy; an empty tuple for other modes."""
    if mode is None or not mode.startswith("im2col"):
        if offsets:
            raise OperandError(f"{what}: offsets={offsets!r} need an im2col mode", help='pass mode="im2col"')
        return ()
    count = rank - 2 if mode == "im2col" else 2
    if len(offsets) != count:
        from pyptx_ir.isa.modules.counting import counted

        raise OperandError(f"{what}: {mode} of {rank} dimensions needs {counted(count, 'offset')}, got {len(offsets)}")
    return (list(offsets),)
