"""Operands: plain values without trivia, compared by their text.

Manual: "Instruction Operands", "Operands: Addresses, Arrays, Vectors", "Constant Expressions".
"""

from __future__ import annotations

from typing import TypeAlias

from pyptx_ir.values import Value, value


@value
class Register(Value):
    """A `%`-name: a register, a special register, or a component of one (`%r1`, `%tid.x`, `%v.b0`)."""

    name: str


@value
class Symbol(Value):
    """An identifier without `%`: a variable, function, label, or a register declared without `%`."""

    name: str


@value
class Immediate(Value):
    """A literal. Its text is kept, because `0f3F800000` and `1.0` are different texts.

    Covers integers (`12`, `0x7771U`, `0b1`, `017`), floats (`1.5`, `0f…`, `0d…`) and `WARP_SZ`, each with an optional
    leading `-`.
    """

    text: str


@value
class Sink(Value):
    """The bit bucket `_` as an operand."""


@value
class Unary(Value):
    """A constant expression `op operand`; `op` is one of `+ - ! ~` or a cast, `(.s64)` / `(.u64)`."""

    op: str
    operand: Operand


@value
class Binary(Value):
    """A constant expression `left op right`, such as `sym+4`."""

    op: str
    left: Operand
    right: Operand


@value
class Ternary(Value):
    """A constant expression `condition ? then : otherwise`."""

    condition: Operand
    then: Operand
    otherwise: Operand


@value
class Parenthesized(Value):
    """A constant expression in parentheses."""

    operand: Operand


@value
class Index(Value):
    """An array element used as an operand: `sym[n]`."""

    base: Operand
    index: Operand


@value
class Apply(Value):
    """An operator applied to an address in an initializer: `generic(sym)`, `0xFF00(sym)`."""

    function: Operand
    operand: Operand


@value
class Address(Value):
    """`[base]`, `[base+offset]`; a negative offset is an `Immediate` with a `-`, written `[base+-4]`."""

    base: Operand
    offset: Operand | None = None


@value
class Unified(Value):
    """`[a].unified`: the address of a variable with the attribute `.unified`. Manual: "ld"."""

    address: Operand


@value
class TensorAddress(Value):
    """A bracketed list of several parts: `[map, {c0, c1}]`, `[texture, sampler, {u, v}]`."""

    elements: tuple[Operand, ...]


@value
class Vector(Value):
    """`{a, b, …}`; may be nested."""

    elements: tuple[Operand, ...]


@value
class Pair(Value):
    """Two destinations `p|q`; the first may be a vector, `{a, b}|p`."""

    first: Operand
    second: Operand


@value
class Negated(Value):
    """A predicate source `!p`."""

    operand: Operand


@value
class CallList(Value):
    """A parenthesized list of a call: `(a, b)`."""

    elements: tuple[Operand, ...]


Operand: TypeAlias = (
    Register
    | Symbol
    | Immediate
    | Sink
    | Unary
    | Binary
    | Ternary
    | Parenthesized
    | Index
    | Apply
    | Address
    | TensorAddress
    | Unified
    | Vector
    | Pair
    | Negated
    | CallList
)
