"""Operands of tcgen05, checked before they are emitted: tensor memory addresses, descriptors, predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pyptx_arch_blackwell.ptx.kernel_rules import one_cta_group
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import AddressOperand, as_integer
from pyptx_dsl.registers.register import NegPred, Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred as predicate
from pyptx_dsl.types import u32, u64
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from pyptx_ir.errors import PyptxError

__all__ = ["cta_group_word", "descriptor_register", "is_place", "place_in_tensor_memory", "refused", "switch"]

_GROUPS = {1: "1", 2: "2", "1": "1", "2": "2"}


def refused(what: str, error: PyptxError) -> NoReturn:
    """Raise OperandError with the message and help of a DescriptorError or MmaError, at the user's line."""
    raise OperandError(f"{what}: {error.message}", help=error.help) from None


def cta_group_word(what: str, value: object) -> str:
    """Return the number after `.cta_group::`; raise OperandError if the kernel already uses another cta_group."""
    found = _GROUPS.get(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if found is None:
        raise OperandError(f"{what}: invalid cta_group {value!r}", help="use 1 for one CTA, 2 for a CTA pair")
    one_cta_group(what, found)
    return found


def is_place(value: object) -> bool:
    """Return whether a value is a tensor memory address but not a register: `t[…]` or `ptx.addr(…)`."""
    return isinstance(value, AddressOperand | tree.Address) or hasattr(value, "tensor_memory_address")


def place_in_tensor_memory(what: str, name: str, value: object) -> object:
    """Return the operand `[taddr]`; raise OperandError for a value that is not a tensor memory address."""
    address = getattr(value, "tensor_memory_address", None)
    if address is not None:
        return address()
    if as_integer(value) is not None or value is None or isinstance(value, float | list | tuple):
        raise OperandError(
            f"{what}: {name} must be a tensor memory address, got {value!r}",
            help="pass the address written by tcgen05.alloc (smem.load), or a region t[…] of ptx.tmem.alloc",
        )
    if isinstance(value, Reg) and (not value.dtype.is_integer or value.dtype.bits != u32.bits):
        raise RegisterTypeError(
            f"{what}: {name} must be a tensor memory address, got the {value.dtype} register {value.raw_name}",
            help="use a 32-bit register: lane << 16 | column",
        )
    return AddressOperand(value) if isinstance(value, Reg) else as_address(value)


def descriptor_register(what: str, name: str, value: object) -> object:
    """Return the descriptor operand `value`; raise an error for a register that is not a 64-bit integer."""
    if isinstance(value, Reg) and (not value.dtype.is_integer or value.dtype.bits != u64.bits):
        help = "create one with ptx.tcgen05.descriptor(tile)"
        if name == "a" and value.dtype.bits == u32.bits:
            help += "; for an address in tensor memory pass ptx.addr(register)"
        raise RegisterTypeError(
            f"{what}: {name} must be a descriptor in a u64 register, got the {value.dtype} register {value.raw_name}",
            help=help,
        )
    if isinstance(value, float | list | tuple) or value is None:
        raise OperandError(
            f"{what}: {name} must be a descriptor, got {value!r}", help="create one with ptx.tcgen05.descriptor(tile)"
        )
    return value


def switch(what: str, name: str, value: object) -> object:
    """Return a predicate operand: a constant, a predicate, or an emitted `setp.ne` of a 32-bit register and 0."""
    if isinstance(value, NegPred) or (isinstance(value, Handle) and value.dtype.kind == "pred"):
        return value
    if isinstance(value, Reg):
        if not value.dtype.is_integer or value.dtype.bits != u32.bits:
            raise RegisterTypeError(
                f"{what}: {name} must be a predicate or a 32-bit integer, got the {value.dtype} register "
                f"{value.raw_name}"
            )
        chosen = active(what).fresh(predicate)
        active(what).emit(("setp", "ne", "s32" if value.dtype.kind == "signed" else "u32"), (chosen, value, 0))
        return chosen
    if isinstance(value, str | tree.Register | tree.Symbol | tree.Negated):
        return value
    number = as_integer(value)
    if number not in {0, 1}:
        raise OperandError(f"{what}: {name}={value!r}", help="pass True, False, a predicate, or a 32-bit register")
    return tree.Immediate(str(number))
