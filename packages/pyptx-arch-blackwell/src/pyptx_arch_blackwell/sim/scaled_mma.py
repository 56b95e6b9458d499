"""Block-scaled MMAs with matrices in registers of a warp. Manual: "Block Scaling for mma.sync".

Each row of A, and each column of B, is divided into one, two or four chunks along K, each with its own scale factor.
The scale factors are bytes of registers of some lanes: selectors choose the lanes and the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.fragments import fragment_of
from pyptx_ir.isa.kinds.fragments import element_of
from pyptx_ir.plugins.semantics import Semantics
from pyptx_sim.extension import Operation
from pyptx_sim.numerics.dot_products import fast_scaled, paired
from pyptx_sim.numerics.elements import packing, unpacking
from pyptx_sim.numerics.nan import canonical
from pyptx_sim.numerics.operands import WIDEN
from pyptx_sim.numerics.recent import Recent
from pyptx_sim.numerics.scales import scales
from pyptx_sim.numerics.sparse_operands import selecting
from pyptx_sim.numerics.tensor_cores import exact_sum, model_of_scaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from pyptx_ir.fragments import Fragment
    from pyptx_ir.isa.binding import Bound
    from pyptx_sim.extension import Array, IntArray, Mask

# Scale factors per row of A in block-scaled mma.sync without a .scale_vec modifier, by kind.
_DEFAULTS: Final = {"kind::mxf8f6f4": 1, "kind::mxf4": 2}
_SIZES: Final = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4}
_GROUP: Final = 4  # number of adjacent lanes whose mma.sync fragments have the same rows of A and the same columns of B
_BYTE: Final = 8
_BYTES: Final = 4  # number of bytes in a 32-bit register of scale factors
_FACTORS: Final = ("scale_a", "byte_a", "scale_b", "byte_b")


@dataclass(frozen=True, slots=True)
class _Side:
    """Location of the scale factors of A, or of B, in registers of a warp.

    The scale factors of row i of A, or of column i of B, are in lane `lanes[i]` + `step` x selector. Undefined
    selectors in registers still choose a valid lane and valid bytes.
    """

    lanes: IntArray
    step: int
    count: int
    element: str

    def words(self, register: Array, thread: Array) -> Array:
        """Return, for each row of A or column of B, the register value with its scale factors, `[warps, rows]`."""
        lanes = self.lanes + self.step * (thread[:, :1].astype(np.int64) % (_GROUP // self.step))
        return np.asarray(register[np.arange(len(register))[:, None], lanes])

    def bytes(self, words: Array, byte: Array) -> NDArray[np.uint8]:
        """Return the scale factor bytes of each row of A or column of B, `[warps, rows, scale factors per row]`."""
        places = (byte[:, :1, None].astype(np.uint32) + np.arange(self.count, dtype=np.uint32)) % np.uint32(_BYTES)
        found: NDArray[np.uint8] = (words[..., None] >> (places * np.uint32(_BYTE))).astype(np.uint8)
        return found

    def values(self, register: Array, byte: Array, thread: Array) -> Array:
        """Return the scale factors as float64, `[warps, 1, rows, count]`."""
        return scales(self.bytes(self.words(register, thread), byte), self.element)[:, None]


_ROWS: Final = np.array([row % 8 * _GROUP + row // 8 for row in range(16)])
_COLUMNS: Final = np.array([column * _GROUP for column in range(8)])


@cache
def _numbers(fragment: Fragment, element: str, *, transposed: bool = False) -> Recent:
    """Return the function that converts a fragment's registers to element values, with a cache of recent results."""
    unpack, widen = unpacking(fragment, transposed=transposed), WIDEN[element]
    return Recent(lambda registers: widen(unpack(registers)))


class _Product:
    """One form of block-scaled mma: fragments, locations of scale factors, and computation on register values."""

    def __init__(self, form: Bound) -> None:
        self.sparse = "e" in form.operands
        shape, words = form.word("shape"), form.words
        self.types = tuple(element_of(form.places[name], words) for name in "dabc")
        instruction = "mma.sp" if self.sparse else "mma"
        self.d, self.a, self.b, self.c = (
            fragment_of(instruction, shape, name, element) for name, element in zip("dabc", self.types, strict=True)
        )
        sizes = {**_DEFAULTS, **_SIZES}
        said = [sizes[word] for word in words.values() if word in _SIZES]
        self.count = said[0] if said else next(sizes[word] for word in words.values() if word in _DEFAULTS)
        element = next(word for word in words.values() if word in ("ue8m0", "ue4m3"))
        self.rows = _Side(_ROWS, 2, self.count, element)
        self.columns = _Side(_COLUMNS, 1, self.count, element)
        self._select = selecting(shape, self.types[1], 0) if self.sparse else None
        self._pack = packing(self.d)
        self._of_c = _numbers(self.c, self.types[3])
        ends = accumulate([0, self.a.registers, self.b.registers, self.c.registers, self.sparse, 3, 3])
        self._parts = [slice(*ends) for ends in pairwise(ends)]

    def parted(self, sources: Sequence[Array]) -> tuple[Sequence[Array], ...]:
        """Return `sources` split by operand: A, B, C, metadata, scale factors of A and of B with their selectors."""
        return tuple([sources[part] for part in self._parts])

    def fast(self, _mask: Mask, *sources: Array) -> tuple[Array, ...]:
        """Return D, computed in float64."""
        a, b, c, metadata, of_a, of_b = self._read(sources)
        places = None if self._select is None else self._select.places(metadata[0])[:, None]
        return self._written(fast_scaled(a, b, (of_a, of_b), c, places))

    def exact(self, _target: str) -> Callable[..., tuple[Array, ...]]:
        """Return the function that computes D bit-exactly as tensor cores do."""
        d_type, a_type, b_type, c_type = self.types
        model = model_of_scaled(a_type)

        def compute(_mask: Mask, *sources: Array) -> tuple[Array, ...]:
            a, b, c, metadata, of_a, of_b = self._read(sources)
            if self._select is not None:
                b = self._select(metadata[0], b)
            length = a.shape[-1] // self.count
            factors = (
                np.repeat(of_a, length, axis=-1)[..., :, None, :],
                np.repeat(of_b, length, axis=-1)[..., None, :, :],
            )
            total = exact_sum(*paired(a, b), c, (d_type, a_type, b_type, c_type), model, factors)
            return self._written(canonical(total))

        return compute

    def _read(self, sources: Sequence[Array]) -> tuple[Array, Array, Array, Sequence[Array], Array, Array]:
        a, b, c, metadata, of_a, of_b = self.parted(sources)
        left = _numbers(self.a, self.types[1])(a)
        right = _numbers(self.b, self.types[2], transposed=True)(b)
        return left, right, self._of_c.take(c), metadata, self.rows.values(*of_a), self.columns.values(*of_b)

    def _written(self, sums: Array) -> tuple[Array, ...]:
        """Return the registers of D; its element values are cached for the next MMA that reads D as C."""
        registers = self._pack(sums)
        self._of_c.keep(registers, sums)
        return registers

    def undefined(self, values: Sequence[Array], bits: Sequence[Array | None], mask: Mask) -> Sequence[Array]:
        """Return which bits of D are undefined, from undefined rows of A, columns of B, and elements of C."""
        known = [_bits_of(*each, mask) for each in zip(values, bits, strict=True)]
        a, b, c, metadata, of_a, of_b = self.parted(known)
        _, _, _, _, chosen_a, chosen_b = self.parted(values)
        rows = (unpacking(self.a)(a) != 0).any(axis=-1) | _spoilt(self.rows, of_a, chosen_a)
        columns = (unpacking(self.b, transposed=True)(b) != 0).any(axis=-1) | _spoilt(self.columns, of_b, chosen_b)
        unknown = rows[..., :, None] | columns[..., None, :] | (unpacking(self.c)(c) != 0)
        if metadata:
            unknown = unknown | (metadata[0] != 0).any(axis=1)[:, None, None, None]
        return self._pack(np.where(unknown, ~np.uint32(0), np.uint32(0)))


def _bits_of(value: Array, bits: Array | None, mask: Mask) -> Array:
    word = np.dtype(f"<u{value.dtype.itemsize}")
    return np.broadcast_to(word.type(0) if bits is None else bits, mask.shape)


def _spoilt(side: _Side, bits: Sequence[Array], values: Sequence[Array]) -> Array:
    """Return which rows have an undefined scale factor, from undefined bits of registers and selectors."""
    _, byte, thread = values
    scale = side.bytes(side.words(bits[0], thread), byte) != 0
    chosen = (bits[1] != 0).any(axis=1) | (bits[2] != 0).any(axis=1)
    return np.asarray((scale.any(axis=-1) | chosen[:, None])[:, None])


def bind(form: Bound) -> Operation:
    """Return the action of a block-scaled mma or mma.sp."""
    product, numbers = _Product(form), {name: number for number, name in enumerate(form.operands)}
    read = [*"abc", *(["e"] if product.sparse else []), *_FACTORS]
    return Operation(
        _types(form, ["d"]),
        _types(form, read),
        product.fast,
        warp=True,
        places=((numbers["d"],), tuple(numbers[name] for name in read)),
        exact=product.exact,
        undefined=product.undefined,
    )


def _types(form: Bound, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(ptx_type for name in names for ptx_type in form.types[name] or ())


SEMANTICS: Final = (
    Semantics("mma", bind, manual="mma (block scaling)"),
    Semantics("mma", bind, manual="mma.sp (block scaling)"),
)
