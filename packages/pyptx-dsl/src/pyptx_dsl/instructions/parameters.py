"""Kernel parameters: `ptx.params` loads scalars, `ptx.global_ptrs` loads the pointers of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.contract.tensors import TensorSpec
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers.operands import AddressOperand, as_items
from pyptx_dsl.registers.register import Reg, RegArray
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import BY_NAME, PtxType, as_type, b64, u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["global_ptrs", "param", "params"]

Registers: TypeAlias = "Sequence[Reg] | RegArray"

_TO_GLOBAL = ("cvta", "to", "global", "u64")


def global_ptrs(
    *tensors: object, into: Registers | None = None, generic: Registers | None = None, bits: bool = False
) -> tuple[Reg, ...]:
    """Return a global pointer (u64) for each array, by two instructions each.

    `ld.param.u64 p, [name];` and `cvta.to.global.u64 p, p;`. For one array, the result is a tuple of one pointer:
    `(px,) = ptx.global_ptrs(X)`. For a register with a generic address instead of an array, only the `cvta` is emitted.

    Pointers are fresh registers, or those of `into`. The loaded generic address is in the pointer's register, or in
    that of `generic`. With `bits`, the address is loaded by `ld.param.b64`. Manual: "Data Movement and Conversion
    Instructions: ld, cvta".
    """
    trace = active("ptx.global_ptrs")
    for tensor in tensors:
        if not isinstance(tensor, TensorSpec | str | Reg):
            raise OperandError(
                f"ptx.global_ptrs needs array parameters of the kernel, got {tensor!r}",
                help="pass parameters of the kernel's function, or names of raw parameters",
            )
    pointers = _registers("into", into, [u64] * len(tensors), trace)
    loaded = pointers if generic is None else _registers("generic", generic, [u64] * len(tensors), trace)
    load = ("ld", "param", (b64 if bits else u64).name)
    for tensor, address, pointer in zip(tensors, loaded, pointers, strict=True):
        if isinstance(tensor, Reg):
            trace.emit(_TO_GLOBAL, (pointer, tensor))
            continue
        trace.emit(load, (address, AddressOperand(tensor)))
        trace.emit(_TO_GLOBAL, (pointer, address))
    return pointers


def params(
    *names: str, into: Registers | None = None, dtype: PtxType | None = None, bits: bool = False
) -> tuple[Reg, ...]:
    """Return scalar parameters, by one instruction each: `n, alpha = ptx.params("n", "alpha")`.

    `ld.param.type register, [name];`, into fresh registers or those of `into`. `type` is the declared type, `dtype` if
    given, or with `bits` the untyped type of the declared size, as LLVM emits it. Raise OperandError unless the name is
    a scalar parameter or `dtype` is given. Manual: "Kernel Function Parameters".
    """
    trace = active("ptx.params")
    types = [_declared(name, trace) if dtype is None else as_type(dtype) for name in names]
    if bits:
        types = [BY_NAME[f"b{each.bits}"] for each in types]
    registers = _registers("into", into, types, trace)
    for name, each, register in zip(names, types, registers, strict=True):
        trace.emit(("ld", "param", _memory(each)), (register, AddressOperand(name)))
    return registers


def param(dtype: PtxType, name: str, dst: Reg | None = None) -> Reg:
    """Return an entry parameter in `dst` or a fresh register, by one instruction.

    A scalar is loaded, `ld.param.type dst, [name];`. For an array (`b8.align64.array128`), the address is returned,
    `mov.type dst, name;`, in a 64-bit type. Manual: "Kernel Function Parameters".
    """
    trace, dtype = active("ptx.param"), as_type(dtype)
    register = trace.fresh(dtype) if dst is None else dst
    if not trace.has_symbol(name):
        raise OperandError(
            f"kernel {trace.name!r} has no parameter {name!r}", help="declare the parameter in raw_params=[…]"
        )
    symbol = tree.Symbol(name)
    if trace.parameter_types.get(name, dtype) is None:
        trace.emit(("mov", dtype.move or dtype.name), (register, symbol))
        return register
    trace.emit(("ld", "param", _memory(dtype)), (register, tree.Address(symbol)))
    return register


def _memory(dtype: PtxType) -> str:
    """Return the type in which `ld.param` loads a value of type `dtype`; raise RegisterTypeError if there is none."""
    if dtype.memory is None:
        raise RegisterTypeError(f"a parameter cannot be .{dtype}", help="pass a u8 or u32, and compare it with 0")
    return dtype.memory


def _declared(name: object, trace: Trace) -> PtxType:
    """Return the type of the kernel's scalar parameter `name`; raise OperandError if the kernel does not have it."""
    found = trace.parameter_types.get(name) if isinstance(name, str) else None
    if found is None:
        known = ", ".join([each for each, dtype in trace.parameter_types.items() if dtype is not None])
        raise OperandError(
            f"{trace.name!r} has no scalar parameter {name!r}",
            help=f"scalars: {known or 'none'}; pass the type of an undeclared parameter: dtype=u32",
        )
    return found


def _registers(keyword: str, given: Registers | None, types: Sequence[PtxType], trace: Trace) -> tuple[Reg, ...]:
    """Return the registers passed for a keyword, or fresh registers of `types` if none were passed."""
    if given is None:
        return tuple([trace.fresh(dtype) for dtype in types])
    registers = as_items(given.regs() if isinstance(given, RegArray) else given)
    if registers is None or len(registers) != len(types):
        from pyptx_ir.isa.modules.counting import counted

        raise OperandError(
            f"{keyword} must be {counted(len(types), 'register')}, one per parameter, got {given!r}",
            help=f"pass a list: {keyword}=[first, second]",
        )
    found = [each for each in registers if isinstance(each, Reg)]
    if len(found) != len(registers):
        raise OperandError(f"{keyword} must be registers, got {given!r}", help="pass registers made by reg.scalar")
    return tuple(found)
