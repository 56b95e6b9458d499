"""Statements with a random operand that a grammar generates, mostly invalid PTX; a seed determines them.

Registers and variables are those of `ptxas.Assembler`.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Instructions whose operand @ is replaced; at least one instruction for each chapter of the instruction table.
STATEMENTS = (
    *("mov.u32 %u32_1, @;", "mov.b64 %b64_1, @;", "mov.u64 %u64_1, @;", "mov.u16 %u16_1, @;", "mov.pred %pred_1, @;"),
    *("add.u32 %u32_1, %u32_2, @;", "add.s64 %s64_1, @, %s64_2;", "add.f32 %f32_1, %f32_2, @;", "neg.f64 %f64_1, @;"),
    *("and.b32 %b32_1, @, %b32_2;", "shl.b64 %b64_1, %b64_2, @;", "not.pred %pred_1, @;", "mul.wide.u16 %u32_1, @, 2;"),
    *("setp.lt.s32 %pred_1, @, %s32_2;", "selp.b32 %b32_1, %b32_2, @, %pred_1;", "selp.f32 %f32_1, 1.0, 2.0, @;"),
    *("cvt.u64.u32 %u64_1, @;", "cvt.rn.f32.s32 %f32_1, @;", "prmt.b32 %b32_1, %b32_2, @, 0;", "bar.sync @;"),
    *("ld.global.b32 %b32_1, @;", "ld.shared.u64 %u64_1, @;", "ld.u8 %u16_1, @;", "ld.global.v2.f32 @, [gmem];"),
    *("st.global.u32 [gmem], @;", "st.shared.f64 @, %f64_1;", "atom.global.add.u32 %u32_1, @, 1;"),
    *("red.shared.or.b32 [smem], @;", "prefetch.global.L1 @;", "cvta.shared.u64 %u64_1, @;", "mbarrier.inval.b64 @;"),
    *("cvta.to.global.u64 %u64_1, @;", "isspacep.shared %pred_1, @;", "vadd.u32.u32.u32 %u32_1, @, %u32_2;"),
    *("shfl.sync.idx.b32 %b32_1, %b32_2, @, 31, -1;", "mbarrier.init.shared.b64 @, 1;"),
)  # fmt: skip
_REGISTERS = tuple(f"%{name}_3" for name in ("pred", "b16", "u32", "s32", "b32", "b64", "u64", "f32", "f64"))
_NAMES = ("gmem", "smem", "cmem", "lmem", "pp", "tex0", "function", "table", "done")
_SPECIAL = ("%tid.x", "%laneid", "%clock64", "%tid", "WARP_SZ", "_", "%u32_3.x", "%tid.w")
_NUMBERS = ("0", "1", "4", "-4", "08", "017", "0x10", "0b11", "4U", "2147483648", "-1", "18446744073709551615", "32")
_FLOATS = ("1.0", "-0.5", "1e5", "0f3F800000", "-0f3F800000", "0d3FF0000000000000", "1e400", ".5")
_UNARY = ("-", "+", "~", "!", "- ", "(.u64)", "(.s64)", "&")
_BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "<", "==", "!=", "&", "|", "^", "&&", "||", "+-", " + ", ",")


def statements(seed: int, count: int) -> tuple[str, ...]:
    """Return `count` distinct random statements."""
    return tuple(_different(random.Random(seed), count))


def _different(chance: random.Random, count: int) -> Iterator[str]:
    seen = set[str]()
    while len(seen) < count:
        text = chance.choice(STATEMENTS).replace("@", _operand(chance))
        if text not in seen:
            seen.add(text)
            yield text


def _operand(chance: random.Random) -> str:
    wrap = chance.choice(("{}", "{}", "{}", "[{}]", "[{}]", "{{{}, {}}}", "[[{}]]", "({})"))
    return wrap.format(_expression(chance, 2), _expression(chance, 1))


def _expression(chance: random.Random, depth: int) -> str:
    if not depth or chance.random() < 0.35:
        return _atom(chance)
    return chance.choice(_WAYS)(chance, depth - 1)


def _atom(chance: random.Random) -> str:
    return chance.choice(chance.choices((_REGISTERS, _NAMES, _NUMBERS, _FLOATS, _SPECIAL), (4, 4, 5, 1, 1))[0])


def _sum(chance: random.Random, depth: int) -> str:
    """Return the most common operand with an operator: a name or register plus a number."""
    return f"{chance.choice((*_REGISTERS, *_NAMES))}+{_constant(chance, depth)}"


def _constant(chance: random.Random, depth: int) -> str:
    if not depth:
        return chance.choice(_NUMBERS)
    return f"{chance.choice(_NUMBERS)}{chance.choice(_BINARY)}{chance.choice(_NUMBERS)}"


_WAYS: tuple[Callable[[random.Random, int], str], ...] = (
    _sum,
    _sum,
    _constant,
    lambda chance, depth: f"{chance.choice(_UNARY)}{_expression(chance, depth)}",
    lambda chance, depth: f"{_expression(chance, depth)}{chance.choice(_BINARY)}{_expression(chance, depth)}",
    lambda chance, depth: f"({_expression(chance, depth)})",
    lambda chance, depth: f"{_atom(chance)}[{_expression(chance, depth)}]",
    lambda chance, depth: f"{_constant(chance, 0)}?{_expression(chance, depth)}:{_expression(chance, 0)}",
    lambda chance, depth: f"{chance.choice(('generic', '0xFF', 'mask'))}({_expression(chance, depth)})",
)
