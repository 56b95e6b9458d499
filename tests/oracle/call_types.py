"""Calls with every pair of parameter type and argument type; also results and vectors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = (
    *("pred", "b8", "u8", "s8", "b16", "u16", "s16", "f16", "f16x2"),
    *("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"),
)
VECTORS = ("v2.u8", "v4.u16", "v2.b32", "v4.f32", "v2.f64")
LITERALS = ("1", "-1", "4U", "1.0", "0f3F800000", "0d3FF0000000000000", "WARP_SZ", "(1)", "1+1", "g", "_")

_SPACES = ("reg", "param")
_MODULE = (
    ".version 9.0\n.target sm_90a\n.address_size 64\n.global .b32 g[4];\n{}\n.visible .entry k()\n{{\n{}\nret;\n}}\n"
)


def _calls() -> Iterator[tuple[str, str, str]]:
    """Yield the header of a function, the declarations of the caller, and the call.

    Parameters are alternately in registers and in .param space: ptxas accepts the same types in both, except for
    vectors.
    """
    kinds = (*TYPES, *VECTORS)
    for turn, (parameter, kind) in enumerate(itertools.product(kinds, kinds)):
        typed, passed = _typed(parameter), f".reg {_typed(kind)} x;"
        yield f".func f(.{_SPACES[turn % 2]} {typed} a)", passed, "call f, (x);"
        yield f".func (.{_SPACES[1 - turn % 2]} {typed} a) f()", passed, "call (x), f;"
        if kind in TYPES:
            yield f".func f(.param {typed} a)", f".param {_typed(kind)} x;", "call f, (x);"
        else:
            yield f".func f(.reg {typed} a)", passed, "call f, (x.x);"
    for parameter, literal in itertools.product(kinds, LITERALS):
        yield f".func f(.reg {_typed(parameter)} a)", "", f"call f, ({literal});"


def _typed(kind: str) -> str:
    return f".{kind.replace('.', ' .')}"


def calls() -> tuple[str, ...]:
    """Return modules with one function and one call of it each."""
    return tuple(_MODULE.format(f"{header} {{ ret; }}", f"{declared}\n{call}") for header, declared, call in _calls())
