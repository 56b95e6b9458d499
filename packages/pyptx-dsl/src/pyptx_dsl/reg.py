"""Registers: `reg.scalar(f32, init=0)`, `reg.array(f32, 8)`, `reg.from_(value, u32)`.

The trace assigns names and emits declarations. Registers of one type share a register group that is declared once, at
the head of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, overload

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers import operators
from pyptx_dsl.registers.operands import PipeRef, alignment, as_count, as_integer, as_items, parse_text
from pyptx_dsl.registers.register import NegPred, Reg, RegArray, SpecialReg
from pyptx_dsl.registers.texts import text
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import as_type
from pyptx_ir.syntax.nodes import RegisterDeclaration, RegisterName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.types import PtxType

__all__ = [
    "NegPred",
    "PipeRef",
    "Reg",
    "RegArray",
    "SpecialReg",
    "alloc",
    "alloc_array",
    "array",
    "bank",
    "declare",
    "from_",
    "pair",
    "scalar",
    "wgmma_frag",
]

_FRAGMENT_THREADS = 128
"""Number of threads that share one accumulator. Manual: "Asynchronous Warpgroup Level Matrix Instructions"."""


def scalar(dtype: PtxType, init: object = None, name: str | None = None) -> Reg:
    """Declare one register, and emit one `mov` if `init` is given.

    `init` is a number (emitted exactly in the type: `0f00000000` for f32, `0x3F80` for bf16) or a register of the same
    width. `name` sets the register's name: `"%sum"`.
    """
    register = active("reg.scalar").fresh(as_type(dtype), name)
    if init is not None:
        operators.move(register, init)
    return register


def array(dtype: PtxType, count: int, name: str | None = None) -> RegArray:
    """Declare an array of `count` registers; emit no instruction."""
    trace = active("reg.array")
    number = as_count(count)
    if number is None or number < 1:
        raise OperandError(f"a register array needs at least one register, got {count!r}")
    return trace.array(as_type(dtype), number, name)


def bank(name: str, dtype: PtxType, count: int, *, vector: int | None = None, align: int | None = None) -> RegArray:
    """Declare `name0 … name(count-1)` here with `.reg .dtype name<count>;`, and return them.

    `bank("%r", b32, 423)` emits the declaration at this position and with this type. The names are local to the
    innermost `{ }`. `array` declares at the head of the body instead. `vector` is 2 or 4. Raise DuplicateNameError for
    names already declared in this scope. Manual: "Variables: Parameterized Variable Names".
    """
    (registers,) = _declare("reg.bank", dtype, (_bank_name(name, count),), vector, align)
    return cast("RegArray", registers)


@overload
def declare(dtype: PtxType, *names: str, vector: int | None = None, align: int | None = None) -> tuple[Reg, ...]: ...


@overload
def declare(
    dtype: PtxType, *names: tuple[str, int], vector: int | None = None, align: int | None = None
) -> tuple[RegArray, ...]: ...


@overload
def declare(
    dtype: PtxType, *names: str | tuple[str, int], vector: int | None = None, align: int | None = None
) -> tuple[Reg | RegArray, ...]: ...


def declare(
    dtype: PtxType, *names: str | tuple[str, int], vector: int | None = None, align: int | None = None
) -> tuple[Reg | RegArray, ...]:
    """Declare registers here with one `.reg`, and return them: `a, b = reg.declare(b32, "%a", ("%b", 8))`.

    A pair declares a register group, `%b<8>`. Otherwise like `bank`. Manual: "Register State Space".
    """
    if not names:
        raise OperandError("reg.declare needs a name", help='write reg.declare(b32, "%a")')
    return _declare("reg.declare", dtype, tuple([_written_name(name) for name in names]), vector, align)


def _declare(
    what: str, dtype: PtxType, names: tuple[RegisterName, ...], vector: int | None, align: int | None
) -> tuple[Reg | RegArray, ...]:
    trace = active(what)
    kind = as_type(dtype)
    if vector not in {None, 2, 4}:
        raise OperandError(f"vector must be 2 or 4, got {vector!r}", help="use vector=2 or vector=4")
    if vector is not None and kind.kind == "pred":
        raise RegisterTypeError("predicate registers cannot be vectors", help="leave vector= out")
    word = None if vector is None else f"v{vector}"
    return trace.declare_registers(
        RegisterDeclaration(kind.name, names, word, alignment(align), leading_trivia=trace.leading_trivia), kind
    )


def _written_name(name: object) -> RegisterName:
    if isinstance(name, str):
        return RegisterName(name)
    items = as_items(name)
    if items is None or len(items) != 2:
        raise OperandError(f"invalid register name {name!r}", help='pass a name, "%a", or a group, ("%b", 8)')
    return _bank_name(*items)


def _bank_name(name: object, count: object) -> RegisterName:
    number = as_count(count)
    if number is None or number < 1:
        raise OperandError(
            f"reg.bank needs at least one register, got {count!r}",
            help='pass the number of registers: reg.bank("%r", b32, 8)',
        )
    return RegisterName(text("the name of a register group", name), number)


def from_(src: object, dtype: PtxType) -> Reg:
    """Declare a register and emit one `mov` into it from a register, special register, number, or symbol (a string)."""
    trace = active("reg.from_")
    register = trace.fresh(as_type(dtype))
    if isinstance(src, str):
        src = parse_text(src)
    operand = getattr(src, "__ptx_operand__", None)
    if isinstance(src, Reg) or (operand is None and not hasattr(type(src), "__match_args__")):
        operators.move(register, src)
        return register
    trace.emit(("mov", dtype.move or dtype.name), (register, src))
    return register


def wgmma_frag(*, m: int, n: int, dtype: PtxType, name: str | None = None) -> RegArray:
    """Declare the accumulator of one warpgroup's `m` x `n` tile: m·n/128 registers per thread."""
    rows, columns = as_integer(m), as_integer(n)
    if rows is None or columns is None or rows * columns < 1 or rows * columns % _FRAGMENT_THREADS:
        raise OperandError(f"an accumulator of {m} x {n} cannot be divided evenly among {_FRAGMENT_THREADS} threads")
    return array(dtype, rows * columns // _FRAGMENT_THREADS, name)


def alloc(dtype: PtxType) -> Reg:
    """Declare one register in a separate register group (`%a…`)."""
    return active("reg.alloc").fresh(as_type(dtype), prefix=f"%a{dtype.prefix[1:]}")


def alloc_array(dtype: PtxType, count: int) -> RegArray:
    """Declare `count` registers of the type with automatic names."""
    return array(dtype, count)


def pair(left: Reg | str | Sequence[object], right: Reg | str) -> PipeRef:
    """Return the destination pair `left|right` of `setp`, `shfl.sync`, `elect.sync`; a list becomes a vector."""
    return PipeRef(left, right)
