"""`ptx.tcgen05.ld` and `st`: asynchronous moves between tensor memory and the registers of a warp.

Manual: "Tensor Memory and Register Load/Store Instructions", "Data Movement Shape".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pyptx_arch_blackwell.fragments import accumulator_fragment
from pyptx_arch_blackwell.layouts.moves import SHAPES, register_fragment
from pyptx_arch_blackwell.ptx.operands import place_in_tensor_memory
from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, ptx_type
from pyptx_dsl.registers.operands import as_count
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b32
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_dsl.instructions.groups.fragments import Fragment
    from pyptx_dsl.types import PtxType
    from pyptx_ir.fragments.layout import Fragment as Layout

__all__ = ["SPLIT", "fragment", "ld", "st"]

_LOAD = InstructionForms("ptx.tcgen05.ld", "tcgen05.ld")
_STORE = InstructionForms("ptx.tcgen05.st", "tcgen05.st")
SPLIT = "16x32bx2"
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)


@emits("tcgen05.ld", dst_regs="r", count="layout", pack="pack_16b", red="op", abs_="abs")
def ld(
    dst_regs: Fragment | None,
    taddr: object,
    *,
    shape: str = "16x128b",
    count: int | str | None = None,
    dtype: PtxType | str = b32,
    pack: bool = False,
    offset: int | None = None,
    red: str | None = None,
    redval: Reg | None = None,
    abs_: bool = False,
    nan: bool = False,
    pred: Reg | None = None,
) -> list[Reg]:
    """Emit `tcgen05.ld.sync.aligned.shape.xCOUNT{.pack::16b}.b32 {dst…}, [taddr]{, offset};` and return the registers.

    A whole warp loads from its lane quarter (`t.quarter(warp)`); the registers are valid after `wait_ld`.

    | shape | lanes | columns of a repetition | registers of a repetition | repetitions |
    |---|---|---|---|---|
    | 32x32b | 32 | 1 | 1 | 1, 2, … 128 |
    | 16x64b | 16 | 2 | 1 | 1, 2, … 128 |
    | 16x128b | 16 | 4 | 2 | 1, 2, … 64 |
    | 16x256b | 16 | 8 | 4 | 1, 2, … 32 |
    | 16x32bx2 | 16, in two column ranges `offset` columns apart | 1 | 1 | 1, 2, … 128 |

    `dst_regs` are 32-bit registers. With None, new b32 registers are declared, as many as `count` or the columns of
    `t[…]` require. With `pack`, a register has two 16-bit elements of adjacent columns.

    With `red="min"` or `"max"` emit `tcgen05.ld.red.sync.aligned.shape.xCOUNT.op{.abs}{.NaN}.type {dst…}, redval,
    [taddr]{, offset};` (PTX 8.8; sm_103a, sm_110a): `redval` is the minimum or maximum over the columns of the thread's
    lane; `dtype` is f32, u32 or s32, and the shape 32x32b or 16x32bx2.
    """
    what = "ptx.tcgen05.ld"
    _check_split(what, shape, offset)
    registers = _new(what, taddr, shape, count) if dst_regs is None else _registers(what, "dst_regs", dst_regs)
    repeats = _repeats(what, shape, count, registers, taddr)
    if red is None and (redval is not None or abs_ or nan):
        raise OperandError(f"{what}: redval, abs_ and nan need red=", help='pass red="max", redval=register')
    if red is not None and redval is None:
        raise OperandError(
            f"{what}: red={red!r} needs redval=, the register of the result", help="redval=reg.scalar(b32)"
        )
    words = _LOAD.words(
        ptx_type(dtype, what),
        shape=shape,
        layout=repeats,
        pack_16b=pack,
        op=red,
        red=red is not None,
        abs=abs_,
        nan=nan,
    )
    reduced = () if redval is None else (redval,)
    place = place_in_tensor_memory(what, "taddr", taddr)
    active(what).emit(words, (registers, *reduced, place, *(() if offset is None else (offset,))), pred)
    return cast("list[Reg]", registers)


@emits("tcgen05.st", src_regs="r", count="layout", unpack="unpack_16b")
def st(
    taddr: object,
    src_regs: Fragment,
    *,
    shape: str = "16x128b",
    count: int | str | None = None,
    dtype: PtxType | str = b32,
    unpack: bool = False,
    offset: int | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.st.sync.aligned.shape.xCOUNT{.unpack::16b}.b32 [taddr]{, offset}, {src…};`.

    A whole warp stores to its lane quarter; shapes and registers are those of `ld`. With `unpack`, the two halves of
    each register go to adjacent columns. The stores are complete after `wait_st`.
    """
    what = "ptx.tcgen05.st"
    _check_split(what, shape, offset)
    registers = _registers(what, "src_regs", src_regs)
    repeats = _repeats(what, shape, count, registers, taddr)
    words = _STORE.words(ptx_type(dtype, what), shape=shape, layout=repeats, unpack_16b=unpack)
    place = place_in_tensor_memory(what, "taddr", taddr)
    active(what).emit(words, (place, *(() if offset is None else (offset,)), registers), pred)


def fragment(
    *,
    shape: Sequence[int] | None = None,
    load: str = "32x32b",
    count: int | None = None,
    cta_group: int = 1,
    sparse: bool = False,
    ws: bool = False,
    pack: bool = False,
) -> Layout:
    """Return the element of an accumulator in each register after a warpgroup has loaded it. Emits nothing.

    `shape` is (M, N) of the MMA, `load` the shape of `ld` with which each warp loads its lanes (`t.quarter(warp)`), all
    columns. `fragment.row(thread, i)` and `.column(thread, i)` take the thread's index in the warpgroup (0 to 127) as a
    number, or as a register; for a register they emit the computation. `print(fragment)` draws the table. For a CTA
    pair, the layout is that of one CTA's part. With `pack`, a register has two 16-bit elements.

    Without `shape`, return the layout of one `ld` or `st` of `count` repetitions: rows are tensor memory lanes, and the
    thread index is the lane of the warp, 0 to 31. Raise OperandError for invalid arguments.
    """
    what = "ptx.tcgen05.fragment"
    try:
        if shape is None:
            return register_fragment(load, 1 if count is None else count, packed=pack)
        if len(shape) < 2 or count is not None:
            raise OperandError(
                f"{what}: invalid shape={shape!r} with count={count!r}", help="pass shape=(M, N), or count= of a load"
            )
        return accumulator_fragment(
            shape[0], shape[1], load=load, cta_group=cta_group, sparse=sparse, ws=ws, packed=pack
        )
    except ValueError as error:
        raise OperandError(f"{what}: {error}") from None


def _check_split(what: str, shape: str, offset: object) -> None:
    if shape not in SHAPES:
        raise OperandError(f"{what}: invalid shape {shape!r}", help=f"use one of {', '.join(SHAPES)}")
    if shape == SPLIT and offset is None:
        raise OperandError(
            f"{what}: {shape} needs offset=: it accesses two regions", help="pass offset=, the distance in columns"
        )
    if shape != SPLIT and offset is not None:
        raise OperandError(
            f"{what}: {shape} does not support offset={offset!r}",
            help=f"leave offset= out: only {SPLIT} has it; slice taddr instead, t[…, c:]",
        )


def _registers(what: str, name: str, value: object) -> list[object]:
    """Return the registers of a vector operand, given as a register, an array, a vector or a sequence."""
    if isinstance(value, tree.Vector):
        return list(value.elements)
    if isinstance(value, Reg):
        return [value]
    if isinstance(value, RegArray):
        return list(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(cast("Sequence[object]", value))
    raise OperandError(
        f"{what}: {name} must be a list of 32-bit registers, got {value!r}", help="pass reg.array(b32, count)"
    )


def _new(what: str, taddr: object, shape: str, count: int | str | None) -> list[object]:
    """Return new registers for a load of `count` repetitions, or of all columns of the region."""
    columns = taddr.columns if isinstance(taddr, TensorMemory) else None
    per = SHAPES[shape].count
    repeats = _number(count) if count is not None else columns // SHAPES[shape].columns if columns else None
    if repeats is None:
        raise OperandError(
            f"{what}: the number of registers is unknown", help="pass count=, or a region t[…] of tensor memory"
        )
    return list(active(what).array(b32, repeats * per))


def _number(count: object) -> int | None:
    return (
        as_count(count.removeprefix("x") and int(count.removeprefix("x")))
        if isinstance(count, str)
        else as_count(count)
    )


def _repeats(what: str, shape: str, count: object, registers: Sequence[object], taddr: object) -> str:
    """Return the repetition modifier, such as `x4`, for a number of registers; raise OperandError for a mismatch."""
    per, lanes, width = SHAPES[shape].count, SHAPES[shape].lanes, SHAPES[shape].columns
    known = [times for times in _COUNTS if times * per <= _COUNTS[-1]]
    repeats, rest = divmod(len(registers), per)
    said = repeats if count is None else _number(count)
    if said not in known or said != repeats or rest:
        told = f"{len(registers)} registers" + ("" if count is None else f" with count={count!r}")
        choices = ", ".join(str(times * per) for times in known)
        raise OperandError(f"{what}: {told} of {shape}", help=f"use {choices} registers: {per} per repetition")
    if isinstance(taddr, TensorMemory):
        if taddr.columns < repeats * width and shape != SPLIT:
            raise OperandError(
                f"{what}: {shape}.x{repeats} accesses {repeats * width} columns, {taddr!r} has {taddr.columns}",
                help="pass a region with more columns, or fewer registers",
            )
        if taddr.first_lane % lanes or taddr.lanes < lanes:
            raise OperandError(
                f"{what}: {shape} accesses {lanes} lanes, aligned to {lanes}; got {taddr!r}",
                help="use t.quarter(warp) for the lanes of a warp",
            )
    return f"x{repeats}"
