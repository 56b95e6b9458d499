"""Operands of wgmma: fragments and shared tiles, checked against the form of the MMA before emission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pyptx_arch_hopper.descriptors import advance, descriptor_of, tile_of
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import NegPred, Reg, RegArray
from pyptx_dsl.shared_memory.allocations import SharedAlloc, SharedSlice
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import from_name, u32, u64
from pyptx_dsl.types import pred as predicate
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_arch_hopper.mma import Form

__all__ = ["accumulator", "check_sizes", "factor", "metadata_operands", "scale_operand", "signs_of", "transpositions"]

_A_REGISTERS = 4


def accumulator(what: str, form: Form, value: object, columns: int) -> list[Reg]:
    """Return the registers of D; the OperandError states their expected number and type."""
    held = form.d if form.d in {"f32", "s32"} else "b32"
    return _fragment(what, "d", value, form.accumulators(columns), held)


def _fragment(what: str, name: str, value: object, count: int, held: str) -> list[Reg]:
    given = [value] if isinstance(value, Reg) else value
    every = list(cast("Sequence[object]", given)) if isinstance(given, Sequence | RegArray) else []
    found = [each for each in every if isinstance(each, Reg)]
    if len(found) != count or len(every) != count:
        raise OperandError(
            f"{what}: {name} must have {count} registers, got {len(every)}",
            help=f"use {name} = reg.array({held}, {count})",
        )
    wrong = next((each for each in found if not _holds(held, each)), None)
    if wrong is not None:
        raise RegisterTypeError(
            f"{what}: {name} must be {count} {held} registers, got the {wrong.dtype} register {wrong.raw_name}",
            help=f"use {name} = reg.array({held}, {count})",
        )
    return found


def _holds(held: str, register: Reg) -> bool:
    """Return whether a register's declared type is valid for an operand of the required type."""
    declared = register.dtype.checked
    return declared in {"f32": ("f32", "b32"), "s32": ("s32", "b32", "u32")}.get(held, ("b32", "u32", "s32"))


def factor(what: str, name: str, value: object, byte_offset: int) -> object:
    """Return operand A or B: registers, or a descriptor, computed from a tile if necessary."""
    if isinstance(value, Reg):
        if value.dtype.bits != u64.bits or not value.dtype.is_integer:
            raise RegisterTypeError(
                f"{what}: {name} must be a descriptor, got the {value.dtype} register {value.raw_name}",
                help="create one with ptx.wgmma.make_descriptor(address, …)",
            )
        return advance(value, byte_offset) if byte_offset else value
    if isinstance(value, SharedAlloc | SharedSlice):
        return descriptor_of(f"{what}: {name}", value, byte_offset)
    if name == "b":
        raise OperandError(f"{what}: b must be in shared memory, got {value!r}", help="pass a tile or a descriptor")
    if byte_offset:
        raise OperandError(f"{what}: a_k_offset={byte_offset} is not valid for a matrix in registers")
    return _fragment(what, "a", value, _A_REGISTERS, "b32")


def signs_of(what: str, form: Form, signs: tuple[int, int]) -> tuple[int, ...]:
    """Return imm-scale-a and imm-scale-b; raise OperandError if an operand's type does not support negation."""
    for name, sign in zip(("scale_a", "scale_b"), signs, strict=True):
        if as_integer(sign) not in {-1, 1}:
            raise OperandError(f"{what}: {name} must be 1 or -1 (negate), got {sign!r}")
        if sign != 1 and not form.negates:
            raise OperandError(f"{what}: {form.types} does not support negation ({name}={sign})")
    return signs if form.negates else ()


def transpositions(
    what: str, form: Form, matrices: tuple[object, object, object], turns: tuple[int | None, int | None]
) -> tuple[int, ...]:
    """Return imm-trans-a and imm-trans-b (1: MN-major) from `turns`, in which None means the tile's major."""
    in_registers = not isinstance(matrices[1], Reg | SharedAlloc | SharedSlice)
    found: list[int] = []
    for name, value, asked in zip(("a", "b"), matrices[1:], turns, strict=True):
        tile = tile_of(value)
        told = None if tile is None else int(tile.major == "MN")
        turn = (told or 0) if asked is None else as_integer(asked)
        if turn not in {0, 1}:
            raise OperandError(f"{what}: trans_{name} must be 0 (K-major) or 1 (MN-major), got {asked!r}")
        if tile is not None and told != turn:
            raise OperandError(
                f"{what}: trans_{name}={asked} contradicts {tile!r}", help=f"leave trans_{name} out\n{tile.picture()}"
            )
        if turn and (not form.transposes or (name == "a" and in_registers)):
            raise OperandError(
                f"{what}: trans_{name}=1 is not valid for {form.types}: only 16-bit matrices in shared memory "
                "may be MN-major"
            )
        found.append(turn)
    if not form.transposes:
        return ()
    return tuple(found[1:]) if in_registers else tuple(found)


def check_sizes(
    what: str, form: Form, shape: Sequence[int], matrices: tuple[object, object, object], *, dense: bool
) -> None:
    """Reject a tile with elements of another size than the MMA's, or smaller than the matrix that the MMA reads."""
    depths = (shape[2] if dense else shape[2] // 2, shape[2])
    for name, value, extent, depth, type_name in zip(
        ("a", "b"), matrices[1:], shape[:2], depths, (form.a, form.b), strict=True
    ):
        tile = tile_of(value)
        if tile is None:
            continue
        if tile.dtype.bits != from_name(type_name).bits:
            raise OperandError(
                f"{what}: {name} is {type_name}, but {tile!r} has elements of {tile.dtype.bits} bits",
                help=f"use the MMA's type for the tile\n{tile.picture()}",
            )
        if tile.mn < extent or tile.k < depth:
            raise OperandError(
                f"{what}: {name} reads {extent} x {depth}, but {tile!r} has {tile.mn} x {tile.k}",
                help=f"use a tile with all of M or N and at least K = {depth} for {type_name}\n{tile.picture()}",
            )
        bits = depth * tile.dtype.bits
        if tile.major == "K" and tile.swizzle and bits > tile.box_row_bytes * 8:
            raise OperandError(
                f"{what}: {name} reads {bits // 8} bytes of a row, but TMA box rows of {tile!r} have "
                f"{tile.box_row_bytes}",
                help=f"use a wider swizzle\n{tile.picture()}",
            )


def metadata_operands(what: str, form: Form, metadata: Reg, selector: int) -> tuple[object, ...]:
    """Return the metadata of a sparse operand A, and the selector of the threads that provide it."""
    number = as_integer(selector)
    if number is None or not 0 <= number < form.selectors:
        raise OperandError(
            f"{what}: invalid selector {selector!r} for {form.types}", help=f"use 0 to {form.selectors - 1}"
        )
    return (metadata, number)


def scale_operand(value: object) -> object:
    """Return operand scale-d: a constant, a predicate, or an emitted `setp.ne` of an integer register and 0."""
    if isinstance(value, NegPred) or (isinstance(value, Handle) and value.dtype.kind == "pred"):
        return value
    if isinstance(value, Reg):
        if not value.dtype.is_integer or value.dtype.bits != u32.bits:
            raise RegisterTypeError(
                f"scale_d must be a predicate or a 32-bit integer, got the {value.dtype} register {value.raw_name}"
            )
        trace = active("ptx.wgmma.mma_async")
        accumulates = trace.fresh(predicate)
        trace.emit(("setp", "ne", "u32" if value.dtype.kind != "signed" else "s32"), (accumulates, value, 0))
        return accumulates
    number = as_integer(value)
    if number not in {0, 1}:
        raise OperandError(f"scale_d must be True (accumulate) or False, got {value!r}")
    return tree.Immediate(str(number))
