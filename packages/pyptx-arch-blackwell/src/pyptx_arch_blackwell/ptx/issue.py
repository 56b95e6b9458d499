"""Emission of all variants of tcgen05.mma: modifiers and operands from the arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_arch_blackwell.datapath import accumulator
from pyptx_arch_blackwell.descriptors import SCALED_KINDS, DescriptorError, ZeroColumnMask
from pyptx_arch_blackwell.layouts.sparsity import metadata
from pyptx_arch_blackwell.ptx.mma_requests import Request, scale_size
from pyptx_arch_blackwell.ptx.operands import (
    cta_group_word,
    descriptor_register,
    is_place,
    place_in_tensor_memory,
    switch,
)
from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import AddressOperand, as_integer, as_items
from pyptx_dsl.registers.register import RegArray
from pyptx_dsl.trace_context import active
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_arch_blackwell.descriptors import InstructionDescriptor
    from pyptx_dsl.registers.register import Reg

__all__ = ["Extras", "accumulation", "in_brackets", "issue", "request", "shift_of_sums"]

_FORMS = {
    (ws, sparse): InstructionForms(
        f"ptx.tcgen05.mma{'_ws' if ws else ''}{'_sp' if sparse else ''}",
        f"tcgen05.mma{'.ws' if ws else ''}{'.sp' if sparse else ''}",
    )
    for ws in (False, True)
    for sparse in (False, True)
}
_SHIFTED_COLLECTORS = ("fill", "use")
_MOST_SHIFT = 15
_HALF = 16  # number of lanes used in each 32-lane quarter if a matrix uses half of the 128 lanes
_SHIFTED_KINDS = ("f16", "tf32")


@dataclass(frozen=True, slots=True)
class Extras:
    """Optional operands and modifiers of an MMA; those with their default value are not emitted."""

    offsets: tuple[int, int] = (0, 0)
    metadata: object | None = None
    lut: object | None = None
    scales: tuple[object | None, object | None] = (None, None)
    scale_vec: object | None = None
    block: object | None = None
    lanes: object | None = None
    zero_columns: object | None = None
    shift: object | None = None
    ashift: bool = False
    collector_a: str | None = None
    collector_b: str | None = None
    collector: str | None = None
    pred: Reg | None = None


def request(
    *,
    ws: bool,
    sparse: bool,
    kind: str | None,
    cta_group: object = 1,
    scaled: bool = False,
    shape: Sequence[int] | None,
    types: tuple[object, object, object, object],
    turns: tuple[object, object],
) -> Request:
    """Return the properties of the MMA that a call requests, except its operands."""
    what = repr(_FORMS[ws, sparse])
    group = int(cta_group_word(what, cta_group))
    return Request(what, kind, group, ws, sparse, scaled or kind in SCALED_KINDS, shape, types, turns)


def accumulation(what: str, accumulate: object, *older: tuple[str, object]) -> object:
    """Return the accumulation predicate: `accumulate`, or the value passed for an older keyword in `older`."""
    said = [(name, value) for name, value in older if value is not None]
    if not said:
        return accumulate
    if len(said) > 1 or accumulate is not True:
        names = ", ".join([name for name, _ in said] + (["accumulate"] if accumulate is not True else []))
        raise OperandError(f"{what}: {names} have the same meaning", help="pass accumulate= only: whether to add to d")
    return said[0][1]


def shift_of_sums(what: str, scale_input_d: object, scale_c: object) -> object:
    """Return n of an MMA that divides the old d by 2**n: the value of `scale_input_d` or its older name `scale_c`."""
    if scale_input_d is not None and scale_c is not None:
        raise OperandError(f"{what}: scale_input_d and scale_c have the same meaning", help="leave scale_c out")
    return scale_c if scale_input_d is None else scale_input_d


def issue(
    asked: Request, factors: tuple[object, object, object], idesc: object, accumulate: object, extras: Extras
) -> None:
    """Emit one MMA, preceded by instructions for descriptors of tiles and for the accumulation predicate."""
    what, (d, a, b) = asked.what, factors
    kind, word, found = asked.described(idesc, a, b)
    asked.row(kind)
    size = _scales(asked, kind, found, extras)
    _check_extras(asked, kind, found, (d, a), extras)
    operands = [
        place_in_tensor_memory(what, "d", d),
        asked.factor("a", a, extras.offsets[0], kind, found),
        asked.factor("b", b, extras.offsets[1], kind, found),
        *_places(what, (("metadata", extras.metadata), ("lut", extras.lut))),
        word,
        *_lanes(extras.lanes),
        *_places(what, (("scale_a", extras.scales[0]), ("scale_b", extras.scales[1]))),
        switch(what, "accumulate", accumulate),
        *(() if extras.shift is None else (extras.shift,)),
        *(() if extras.zero_columns is None else (_mask(what, found, extras.zero_columns),)),
    ]
    with_lut = extras.lut is not None
    words = _FORMS[asked.ws, asked.sparse].words(
        kind=kind,
        cta_group=None if asked.ws else str(asked.cta_group),
        block_scale=kind in SCALED_KINDS,
        size=None if with_lut else size,
        block32=with_lut and size == "block32",
        decompress_lut_b=with_lut,
        ashift=extras.ashift,
        collector_a=_collector("collector::a::", extras.collector_a),
        collector_b=_collector("collector::b::", extras.collector_b),
        collector=_collector("collector::", extras.collector),
    )
    active(what).emit(words, operands, extras.pred)


def _scales(asked: Request, kind: str, found: InstructionDescriptor | None, extras: Extras) -> str | None:
    """Return the block size of the scale factors; check that they are given if the kind has them."""
    given = [each is not None for each in extras.scales]
    if kind not in SCALED_KINDS:
        if any(given) or extras.scale_vec is not None or extras.block is not None:
            known = ", ".join(SCALED_KINDS)
            raise OperandError(f"{asked.what}: kind::{kind} has no scale factors", help=f"use kind= one of {known}")
        return None
    if not all(given):
        raise OperandError(
            f"{asked.what}: kind::{kind} needs scale_a and scale_b in tensor memory",
            help="pass scale_a=t[…], scale_b=t[…]",
        )
    size = scale_size(asked.what, kind, extras.scale_vec, extras.block)
    asked.check_scales(found, size, extras.scales)
    return size


def _check_extras(
    asked: Request,
    kind: str,
    found: InstructionDescriptor | None,
    places: tuple[object, object],
    extras: Extras,
) -> None:
    """Reject combinations of arguments that the MMA does not support."""
    what, (d, a) = asked.what, places
    if asked.sparse and extras.metadata is None:
        raise OperandError(f"{what}: a sparse MMA needs metadata in tensor memory", help="metadata=t[…]")
    if extras.shift is not None:
        number = as_integer(extras.shift)
        if kind not in _SHIFTED_KINDS:
            raise OperandError(
                f"{what}: kind::{kind} does not support scale_input_d", help=f"use {' or '.join(_SHIFTED_KINDS)}"
            )
        if number is not None and not 0 <= number <= _MOST_SHIFT:
            raise OperandError(
                f"{what}: invalid scale_input_d {extras.shift!r}",
                help=f"use n from 0 to {_MOST_SHIFT}: d is multiplied by 2**-n",
            )
    if extras.ashift and not is_place(a):
        help = "pass a=t[…], or ptx.addr(register) for an address in a register"
        raise OperandError(f"{what}: ashift needs operand A in tensor memory", help=help)
    if extras.ashift and (extras.collector_a or "").removeprefix("collector::a::") in _SHIFTED_COLLECTORS:
        raise OperandError(
            f"{what}: ashift does not support collector_a={extras.collector_a!r}", help="use lastuse or discard"
        )
    if extras.ashift and found is not None and found.m < 128:
        raise OperandError(f"{what}: ashift does not support M = {found.m}", help="use M = 128, or 256 for a CTA pair")
    if extras.lanes is not None and kind in SCALED_KINDS:
        raise OperandError(
            f"{what}: kind::{kind} does not support disable_output_lanes",
            help="leave disable_output_lanes out: MMAs with scale factors write all lanes",
        )
    if isinstance(d, TensorMemory) and found is not None:
        _check_sums(asked, found, d)
        _check_lanes(what, d, (("a", a), ("metadata", extras.metadata)))
    if isinstance(extras.metadata, TensorMemory) and found is not None:
        _check_metadata(asked, found, extras.metadata)


def _check_lanes(what: str, d: TensorMemory, others: Sequence[tuple[str, object]]) -> None:
    """Reject operands that start at another lane than d. Manual: "Alignment restriction" of sparse matrices."""
    for name, place in others:
        if isinstance(place, TensorMemory) and place.first_lane != d.first_lane:
            raise OperandError(
                f"{what}: {name} starts at lane {place.first_lane}, d at lane {d.first_lane}",
                help="start all matrices of an MMA at the same lane",
            )


def _check_metadata(asked: Request, found: InstructionDescriptor, place: TensorMemory) -> None:
    """Reject an invalid sparsity selector, and a tensor memory region too small for the metadata."""
    try:
        held = metadata(
            found.kind, m=found.m, group=asked.cta_group, weight_stationary=asked.ws, selector=found.selector
        )
    except ValueError as error:
        raise OperandError(f"{asked.what}: metadata: {error}", help="set the selector in idesc") from None
    columns = held.columns[-1] + 1
    if place.columns < columns:
        raise OperandError(f"{asked.what}: metadata needs {columns} columns, {place!r} has {place.columns}")


def _check_sums(asked: Request, found: InstructionDescriptor, d: TensorMemory) -> None:
    """Reject a tensor memory region too small for d, or with an invalid first lane."""
    parts = accumulator(found.m, found.n, blocks=asked.cta_group, sparse=found.sparse, stationary=asked.ws)
    columns = max(part.column + part.columns for part in parts)
    if d.columns < columns:
        raise OperandError(f"{asked.what}: d needs {columns} columns, {d!r} has {d.columns}")
    starts = (0, _HALF) if {part.rows for part in parts} == {_HALF} else (0,)
    if d.first_lane not in starts:
        raise OperandError(
            f"{asked.what}: d with M = {found.m} must start at lane {' or '.join(map(str, starts))}, got "
            f"{d.first_lane}",
            help="slice columns only, t[:, columns], to start at lane 0",
        )


def _places(what: str, given: Sequence[tuple[str, object | None]]) -> list[object]:
    return [place_in_tensor_memory(what, name, value) for name, value in given if value is not None]


def _lanes(value: object) -> tuple[object, ...]:
    """Return the disable-output-lane operand with the 32-bit words of its mask; an empty tuple without a mask."""
    if value is None:
        return ()
    return (list(value) if isinstance(value, RegArray) else as_items(value) or value,)


def _mask(what: str, found: InstructionDescriptor | None, value: object) -> object:
    """Return the zero-column mask: a 64-bit register, or the bits of a ZeroColumnMask."""
    if not isinstance(value, ZeroColumnMask):
        return descriptor_register(what, "zero_columns", value)
    if found is not None:
        try:
            value.columns(found.m, found.n)
        except DescriptorError as error:
            raise OperandError(f"{what}: zero_columns: {error.message}", help=error.help) from None
    return tree.Immediate(str(value.bits))


def _collector(prefix: str, value: str | None) -> str | None:
    return value if value is None else value.removeprefix(prefix)


def in_brackets(value: object, *, place: bool) -> object:
    """Return the address operand `[value]` if the operand is in tensor memory (`place`); else `value`."""
    return AddressOperand(value) if place and not isinstance(value, AddressOperand | tree.Address) else value
