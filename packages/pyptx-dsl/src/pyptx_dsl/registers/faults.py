"""Python's operator symbols for messages, and the error for an operator on unsupported operands."""

from __future__ import annotations

from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.registers.handle import Handle

SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "div": "//",
    "rem": "%",
    "shl": "<<",
    "shr": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
    "max": "max",
    "min": "min",
    "neg": "-",
    "abs": "abs",
    "not": "~",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


def pointer_hint(name: str) -> str:
    """Return the hint for an operator or index on a kernel's array parameter: load through the array's pointer."""
    return (
        f"access an array through its pointer: (p,) = ptx.global_ptrs({name}); ptx.ld(f32, d, ptx.addr(p + index * 4))"
    )


def refusal(operation: str, left: Handle, right: object) -> RegisterTypeError:
    """Return the error for an operator on unsupported operands; `right` is None for unary operators."""
    if hasattr(right, "tma_desc"):  # `right` is a TensorSpec; to import its class would be circular
        name = getattr(right, "name", "X")
        return RegisterTypeError(
            f"{SYMBOLS[operation]} is not defined for {left.dtype} and the array {name}", help=pointer_hint(name)
        )
    other = f" and {right.dtype}" if isinstance(right, Handle) else "" if right is None else f" and {right!r}"
    if hasattr(right, "byte_offset"):  # `right` is a SharedAddress; to import its class would be circular
        return RegisterTypeError(
            f"{SYMBOLS[operation]} is not defined for {left.dtype} and an address in shared memory",
            help="use s[index] for an element; for bytes, move the address to a register: a = "
            "reg.from_(s.address(0), u32), then ptx.addr(a + offset)",
        )
    return RegisterTypeError(
        f"{SYMBOLS[operation]} is not defined for {left.dtype}{other}", help=_advice(operation, left, right)
    )


def _advice(operation: str, left: Handle, right: object) -> str:
    if left.dtype.kind == "pred" or (isinstance(right, Handle) and right.dtype.kind == "pred"):
        return (
            "use & | ^ ~ with predicates; compare registers to create them, and pass reg.PipeRef(p, q) for a pair p|q"
        )
    if operation == "truediv":
        return "divide integers with // (PTX div); f16 and bf16 have no division: convert to f32"
    if isinstance(right, Handle):
        return "convert one operand with ptx.cvt"
    if isinstance(right, float) and left.dtype.is_integer:
        return "convert the register to f32 with ptx.cvt first"
    return "use registers and numbers as operands"


def no_temporary(
    where: str | None = None, *, otherwise: str = "assign the result to a register: r[i] = …"
) -> OperandError:
    """Return the error for an operator's result if `temps` of `ptx.expr` has no free register; `where`: its line."""
    return OperandError(
        "ptx.expr has no temporary of this type left for the result",
        where=where,
        help=f"add a register to temps=(…), in the order of emission, or {otherwise}",
    )
