"""Propagation of undefined bits from the sources to the results of an instruction.

If each bit of a result is a bit of a source, or a function of a few bits at the same position, the result's undefined
bits are determined exactly: the result is computed with undefined source bits cleared and with them set, and compared.
In sums and products, all bits from the lowest undefined bit up are undefined. In other instructions, one undefined
source bit makes the whole result undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_sim.types import dtype_of, packed_element

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.operation import Array, Mask, Operation, Spread

__all__ = ["shadow_of", "spread_of"]

_Bits: TypeAlias = Sequence["Array | None"]

# Operands whose bits the instruction moves, or combines per bit position. An undefined bit of any other operand
# makes the whole result undefined.
_MOVED: Final[dict[str, str]] = {
    **dict.fromkeys(("and", "or", "xor"), "ab"),
    **dict.fromkeys(("not", "shl", "shr", "bfe", "brev", "szext", "shfl", "movmatrix", "vote"), "a"),
    **dict.fromkeys(("shf", "bfi", "prmt", "slct"), "ab"),
    **dict.fromkeys(("lop3", "selp"), "abc"),
}
_RISING: Final = frozenset({"add", "sub", "mul", "mad", "neg"})
_ORDERS: Final = frozenset({"lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"})


def shadow_of(ptx_type: str) -> np.dtype[np.unsignedinteger] | np.dtype[np.bool_]:
    """Return the dtype of the mask of undefined bits of a value of type `ptx_type`."""
    return np.dtype(np.bool_) if ptx_type == "pred" else np.dtype(f"<u{min(dtype_of(ptx_type).itemsize, 8)}")


def spread_of(form: Bound, operation: Operation) -> Spread:
    """Return the `Spread` of an instruction: it computes undefined bits of results from undefined bits of sources."""
    if operation.undefined is not None:
        return operation.undefined
    name = form.instruction.opcode[0]
    if operation.places is None or operation.reads_carry or operation.writes_carry:
        return _whole(operation)
    names = list(form.operands)
    sources = [names[place] for place in operation.places[1]]
    if len(sources) == len(operation.sources) and _moves(form, name, operation):
        moved = _MOVED.get(name, "a")
        return _moving(operation, [source in moved for source in sources])
    if name in _RISING and _integers(operation) and not {"hi", "sat"} & set(form.words.values()):
        return _rising(operation)
    if name == "setp" and _integers(operation) and not form.word("boolop"):
        return _comparing(operation, form.word("cmp"))
    if name == "setp" and packed_element(operation.sources[0]) and not form.word("boolop"):
        return _comparing_elements(operation)
    return _by_element(operation) or _whole(operation)


def _moves(form: Bound, name: str, operation: Operation) -> bool:
    """Return whether an instruction moves bits or combines them per bit position; integer cvt without `.sat` does."""
    if name == "cvt":
        return len(operation.sources) == 1 and _integers(operation) and "sat" not in form.words.values()
    return name in _MOVED and not form.word("boolop")


def _integers(operation: Operation) -> bool:
    types = (*operation.sources, *(each for each in operation.results if each != "pred"))
    return all(each[0] in "sub" and each[1:].isdecimal() for each in types)


# --- propagation --------------------------------------------------------------------------------


def _whole(operation: Operation) -> Spread:
    """Return a `Spread` in which any undefined bit makes all results undefined (warp operations: in all lanes)."""
    kinds = [shadow_of(each) for each in operation.results] + [np.dtype(np.bool_)] * operation.writes_carry

    def spread(_values: Sequence[Array], bits: _Bits, mask: Mask) -> Sequence[Array]:
        somewhere = _any(bits)
        if operation.warp:
            somewhere = np.asarray((somewhere & mask).any(axis=1, keepdims=True))
        return [_filled(somewhere, kind) for kind in kinds]

    return spread


def _any(bits: _Bits) -> Array:
    """Return the mask of lanes in which any source has an undefined bit."""
    found: Array = np.asarray(np.logical_or.reduce([each != 0 for each in bits if each is not None]))
    return found


def _filled(where: Array, kind: np.dtype[np.unsignedinteger] | np.dtype[np.bool_]) -> Array:
    return where if kind == np.bool_ else np.where(where, ~kind.type(0), kind.type(0))


def _raw(values: Array) -> Array:
    """Return values as unsigned integers with the same bits; predicates are returned unchanged."""
    raw: Array = values if values.dtype == np.bool_ else values.view(np.dtype(f"<u{values.dtype.itemsize}"))
    return raw


def _differing(operation: Operation, values: Sequence[Array], bits: _Bits, mask: Mask) -> list[Array]:
    """Return the result bits that change if the undefined bits of some sources are all set instead of all clear."""
    found: list[Array] = []
    first: list[Array] = []
    shape = np.broadcast_shapes(mask.shape, *(each.shape for each in values))
    for given in _fillings(values, bits):
        if operation.warp:
            results = operation.compute(mask, *(np.broadcast_to(each, shape) for each in given))
        else:
            results = operation.compute(*given)
        raw = [_raw(np.ascontiguousarray(each)) for each in (results if isinstance(results, tuple) else (results,))]
        if not first:
            first, found = raw, [np.zeros_like(each) for each in raw]
        found = [old | (one ^ other) for old, one, other in zip(found, first, raw, strict=True)]
    return found


def _fillings(values: Sequence[Array], bits: _Bits) -> Iterator[list[Array]]:
    undefined = [index for index, each in enumerate(bits) if each is not None]
    for choice in product((False, True), repeat=len(undefined)):
        given = list(values)
        for index, filled in zip(undefined, choice, strict=True):
            unknown, raw = bits[index], _raw(np.ascontiguousarray(values[index]))
            assert unknown is not None  # noqa: S101 - an index from `undefined`
            given[index] = (raw | unknown if filled else raw & ~unknown).view(values[index].dtype)
        yield given


def _moving(operation: Operation, moved: Sequence[bool]) -> Spread:
    """Return the `Spread` of an instruction that moves bits of some sources (`moved`) as other sources specify."""
    kinds = [shadow_of(each) for each in operation.results]
    whole = _whole(operation)

    def spread(values: Sequence[Array], bits: _Bits, mask: Mask) -> Sequence[Array]:
        if any(each is not None and not moves for each, moves in zip(bits, moved, strict=True)):
            return whole(values, bits, mask)
        found = _differing(operation, values, bits, mask)
        return [each.astype(kind, copy=False) for each, kind in zip(found, kinds, strict=False)]

    return spread


def _rising(operation: Operation) -> Spread:
    """Return the `Spread` of integer sums and products: all bits from the lowest undefined bit up are undefined."""
    (kind,) = (shadow_of(each) for each in operation.results)

    def spread(_values: Sequence[Array], bits: _Bits, _mask: Mask) -> Sequence[Array]:
        known = [each.astype(kind) for each in bits if each is not None]
        found = known[0]
        for each in known[1:]:
            found = found | each
        return [found | (~found + kind.type(1))]

    return spread


def _comparing(operation: Operation, comparison: str) -> Spread:
    """Return the `Spread` of integer comparisons, whose result the defined bits alone may determine.

    Unequal defined bits determine the results of `eq` and `ne`. The result of an order comparison is defined if it is
    the same for the minimum and the maximum of each operand, and if the sign bits are defined.
    """
    kind = dtype_of(operation.sources[0])
    sign = kind.kind == "i"

    def spread(values: Sequence[Array], bits: _Bits, mask: Mask) -> Sequence[Array]:
        somewhere = _any(bits)
        unknown: Array
        if comparison in _ORDERS:
            unknown = _differing(operation, values, bits, mask)[0]
            for each in bits:
                if sign and each is not None:
                    unknown = unknown | (each >> each.dtype.type(8 * kind.itemsize - 1) != 0)
        else:
            undefined = bits[0] if bits[1] is None else bits[1] if bits[0] is None else bits[0] | bits[1]
            assert undefined is not None  # noqa: S101 - one of them has undefined bits
            unknown = ((_raw(values[0]) ^ _raw(values[1])) & ~undefined) == 0
        return [somewhere & unknown] * len(operation.results)

    return spread


def _comparing_elements(operation: Operation) -> Spread:
    """Return the `Spread` of a comparison of packed elements: each result is that of one element, the lowest first."""
    count = _elements(operation.sources[0])

    def spread(_values: Sequence[Array], bits: _Bits, _mask: Mask) -> Sequence[Array]:
        return [_any([None if each is None else _part(each, index, count) for each in bits]) for index in range(count)]

    return spread


def _by_element(operation: Operation) -> Spread | None:
    """Return the `Spread` of an operation on packed elements, per element; None for other operations.

    If the operation packs scalars into its result, the last scalar is the lowest element.
    """
    if len(operation.results) != 1 or operation.warp:
        return None
    count = _elements(operation.results[0])
    counts = [_elements(each) for each in operation.sources]
    packs = counts == [1] * count
    if count == 1 or not (packs or all(each == count for each in counts)):
        return None
    kind = shadow_of(operation.results[0])
    width = 8 * kind.itemsize // count

    def spread(_values: Sequence[Array], bits: _Bits, _mask: Mask) -> Sequence[Array]:
        found = np.zeros((1, 1), kind)
        for index, each in enumerate(bits):
            if each is None:
                continue
            for element in range(count):
                if packs and element != count - 1 - index:
                    continue
                part = each if packs else _part(each, element, count)
                field = kind.type(((1 << width) - 1) << (element * width))
                found = found | np.where(part != 0, field, kind.type(0))
        return [found]

    return spread


def _part(bits: Array, element: int, count: int) -> Array:
    """Return part `element` of `count` equal parts of `bits`; part 0 is the lowest."""
    width = 8 * bits.dtype.itemsize // count
    part: Array = (bits >> bits.dtype.type(element * width)) & bits.dtype.type((1 << width) - 1)
    return part


def _elements(ptx_type: str) -> int:
    """Return the number of elements of a packed type; 1 for other types."""
    return int(ptx_type.rpartition("x")[2]) if packed_element(ptx_type) else 1
