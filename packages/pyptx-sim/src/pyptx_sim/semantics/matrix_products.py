"""Products of matrices that lie in the registers of a warp.

Manual: "Multiply-and-Accumulate Instruction: mma", "… mma.sp / mma.sp::ordered_metadata", "… wmma.mma".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.fragments import Fragment, fragment_of
from pyptx_ir.isa.kinds.fragments import BITS
from pyptx_ir.isa.table.mma import PRODUCTS, Product
from pyptx_ir.isa.table.mma_sparse import PRODUCTS as SPARSE_PRODUCTS
from pyptx_ir.isa.table.mma_sparse import SparseProduct
from pyptx_ir.isa.table.wmma import ROWS as WMMA_ROWS
from pyptx_sim.numerics.dot_products import (
    Sum,
    exact_double,
    exact_float,
    fast_double,
    fast_float,
    integer,
    population,
)
from pyptx_sim.numerics.elements import packing, unpacking
from pyptx_sim.numerics.factors import WIDEN
from pyptx_sim.numerics.recent import Recent
from pyptx_sim.numerics.sparse_factors import selecting
from pyptx_sim.operation import Array, Compute, Mask, Operation
from pyptx_sim.semantics.forms import ROUNDING, Bind, Form, Match, form
from pyptx_sim.semantics.product_grids import batching

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_ir.isa.rows import InstructionRow

Types: TypeAlias = tuple[str, str, str, str]

# What a register is read and written as, by the type of its elements; all others are raw bits.
_HELD: Final = {"f32": "f32", "f64": "f64", "s32": "s32"}
_NARROW: Final = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_FLOATS: Final = ("f16", "bf16", "tf32", *_NARROW)


@dataclass(frozen=True, slots=True)
class Shares:
    """The fragments of d, a, b and c, and the types of their elements."""

    d: Fragment
    a: Fragment
    b: Fragment
    c: Fragment
    types: Types

    @property
    def results(self) -> tuple[str, ...]:
        """The types of the registers that are written."""
        return _registers(self.d, self.types[0])

    @property
    def sources(self) -> tuple[str, ...]:
        """The types of the registers that are read."""
        parts = zip((self.a, self.b, self.c), self.types[1:], strict=True)
        return tuple(name for fragment, element in parts for name in _registers(fragment, element))

    def reading(self) -> Callable[[Sequence[Array]], tuple[Array, Array, Array]]:
        """Return what reads a, the transpose of b, and c, as numbers."""
        first = self.a.registers
        second = first + self.b.registers
        of_a, of_b = numbers(self.a, self.types[1]), numbers(self.b, self.types[2], transposed=True)
        of_c = numbers(self.c, self.types[3])

        def read(registers: Sequence[Array]) -> tuple[Array, Array, Array]:
            return of_a(registers[:first]), of_b(registers[first:second]), of_c.take(registers[second:])

        return read

    def writing(self) -> Callable[[Array], tuple[Array, ...]]:
        """Return what makes registers of d; sums of f32 are remembered, for the product that adds to them."""
        pack = packing(self.d)
        if self.types[0] != "f32" or (self.d.lanes, self.d.elements) != (self.c.lanes, self.c.elements):
            return pack
        of_c = numbers(self.c, self.types[0])

        def write(sums: Array) -> tuple[Array, ...]:
            registers = pack(sums)
            of_c.keep(registers, sums)
            return registers

        return write


@cache
def numbers(fragment: Fragment, element: str, *, transposed: bool = False) -> Recent:
    """Return what makes numbers of the registers of a fragment, and remembers the last ones."""
    unpack, widen = unpacking(fragment, transposed=transposed), WIDEN[element]
    return Recent(lambda registers: widen(unpack(registers)))


def _registers(fragment: Fragment, element: str) -> tuple[str, ...]:
    return (_HELD.get(element, "b32"),) * fragment.registers


def _types(match: Match) -> Types:
    return match["dtype"], match["atype"], match["btype"] or match["atype"], match["ctype"] or match["dtype"]


def _operation(shares: Shares, fast: Sum, exact: Callable[[str], Sum] | None) -> Operation:
    """Return the dense product, summed by `fast`, or by what `exact` says of a target."""
    read, write = shares.reading(), shares.writing()

    def using(total: Sum) -> Compute:
        def compute(_mask: Mask, *registers: Array) -> tuple[Array, ...]:
            return write(total(*read(registers)))

        return compute

    batch = batching(shares, fast, lambda registers: write(fast(*read(registers))))
    precise = _of_target(using, exact)
    return Operation(shares.results, shares.sources, using(fast), warp=True, exact=precise, batch=batch)


def _of_target(using: Callable[[Sum], Compute], exact: Callable[[str], Sum] | None) -> Callable[[str], Compute] | None:
    if exact is None:
        return None
    sum_of = exact

    def precise(target: str) -> Compute:
        return using(sum_of(target))

    return precise


def _sums(types: Types, match: Match, operation: str = "") -> tuple[Sum, Callable[[str], Sum] | None]:
    """Return how a product of these types is summed: fast, and exactly where that makes a difference."""
    if types[1] in _FLOATS:
        return fast_float(types), partial(exact_float, types)
    if types[1] == "f64":
        return fast_double, lambda _target: exact_double(match["rnd"] or "rn")
    if types[1] == "b1":
        return partial(population, operation=operation or match["op"]), None
    return partial(integer, saturates="satfinite" in match), None


def _dense(match: Match) -> Operation:
    match.expect_operands(4)
    types, shape = _types(match), match["shape"]
    a_layout, b_layout = (match["alayout"], match["blayout"]) if shape == "m8n8k4" and types[1] == "f16" else ("", "")
    shares = Shares(
        fragment_of("mma", shape, "d", types[0]),
        fragment_of("mma", shape, "a", types[1], a_layout),
        fragment_of("mma", shape, "b", types[2], b_layout),
        fragment_of("mma", shape, "c", types[3]),
        types,
    )
    return _operation(shares, *_sums(types, match))


def _opaque(types: tuple[str, ...], operation: str, match: Match) -> Operation:
    """Bind wmma.mma; the layouts that it names were those of the loads, and registers do not show them."""
    match.expect_operands(4)
    d, a, b, c = types or (match["dtype"], "f16", "f16", match["ctype"])
    shape = match["shape"]
    shares = Shares(
        fragment_of("wmma", shape, "d", d),
        fragment_of("wmma", shape, "a", a),
        fragment_of("wmma", shape, "b", b),
        fragment_of("wmma", shape, "c", c),
        (d, a, b, c),
    )
    return _operation(shares, *_sums(shares.types, match, operation))


def _sparse(match: Match) -> Operation:
    match.expect_operands(6)
    types, shape = _types(match), match["shape"]
    shares = Shares(
        fragment_of("mma.sp", shape, "d", types[0]),
        fragment_of("mma.sp", shape, "a", types[1]),
        fragment_of("mma.sp", shape, "b", types[2]),
        fragment_of("mma.sp", shape, "c", types[3]),
        types,
    )
    selector = match.immediate(5)
    if selector is None:
        raise match.refuse("its selector is no constant")
    select = selecting(shape, types[1], selector)
    fast, exact = _sums(types, match)

    read, write = shares.reading(), shares.writing()

    def using(total: Sum) -> Compute:
        def compute(_mask: Mask, *registers: Array) -> tuple[Array, ...]:
            a, b, c = read(registers[:-1])
            return write(total(a, select(registers[-1], b), c))

        return compute

    sources = (*shares.sources, "b32")
    return Operation(shares.results, sources, using(fast), warp=True, exact=_of_target(using, exact))


# --- forms, one for each row of the instruction table ---------------------------------------------------------

_LAYOUTS: Final = ("row", "col")
_SPARSE: Final = ("mma+sp+sync+aligned", "mma+sp::ordered_metadata+sync+aligned")


def _dense_form(product: Product) -> Form:
    tail = "{.rnd}" if product.rounds else ".op.popc" if product.operation else "{.satfinite}"
    return form(
        f"mma+sync+aligned.shape.alayout.blayout.dtype.atype.btype.ctype{tail}",
        _dense,
        shape=product.shapes,
        alayout=_LAYOUTS,
        blayout=_LAYOUTS,
        dtype=(product.d,),
        atype=product.a,
        btype=product.a,
        ctype=product.c or (product.d,),
        rnd=ROUNDING,
        op=(product.operation,),
    )


def _sparse_form(opcode: str, product: SparseProduct) -> Form:
    return form(
        f"{opcode}.shape.row.col.dtype.atype.btype.ctype{{.satfinite}}",
        _sparse,
        shape=(product.shape,),
        dtype=(product.d,),
        atype=product.a,
        btype=product.a,
        ctype=(product.d,),
    )


def _narrow_form(opcode: str, shape: str, bind: Bind) -> Form:
    """Return the form of products of narrow floats, each in a byte, as sm_120a has them. Manual: "mma", `.kind`."""
    return form(
        f"{opcode}.shape.row.col.kind::f8f6f4.dtype.atype.btype.ctype",
        bind,
        shape=(shape,),
        dtype=("f16", "f32"),
        atype=_NARROW,
        btype=_NARROW,
        ctype=("f16", "f32"),
    )


def _opaque_form(row: InstructionRow) -> Form:
    """Return the form of a row of wmma.mma: `wmma.mma.xor.popc.sync.aligned.row.col.shape.s32.b1.b1.s32 d, a, b, c`."""
    head, _, tail = row.syntax.split(" ")[0].partition(".sync")
    types = tuple(word for word in tail.replace("{", "").split(".") if word in BITS)
    operation = next((word for word in ("xor", "and") if word in head.split(".")), "")
    bind = partial(_opaque, types, operation)
    return form(f"{head.replace('.', '+')}+sync{tail}", bind, **dict(row.slots))


def _saturates_floats(row: InstructionRow) -> bool:
    """Tell of the forms that PTX 6.5 took away; what they clamped to is not told any more."""
    return row.syntax.split(" ")[0].endswith(".satfinite")


FORMS = (
    *map(_dense_form, PRODUCTS),
    *(_sparse_form(opcode, product) for opcode in _SPARSE for product in SPARSE_PRODUCTS),
    _narrow_form("mma+sync+aligned", "m16n8k32", _dense),
    _narrow_form("mma+sp::ordered_metadata+sync+aligned", "m16n8k64", _sparse),
    *(_opaque_form(row) for row in WMMA_ROWS if row.syntax.startswith("wmma.mma") and not _saturates_floats(row)),
)
