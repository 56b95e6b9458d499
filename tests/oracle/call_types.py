"""Calls by every pair of types: of the parameter, and of what is passed for it. And results, and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = (
    *("pred", "b8", "u8", "s8", "b16", "u16", "s16", "f16", "f16x2"),
    *("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "b128"),
)
VECTORS = ("v2.u8", "v4.u16", "v2.b32", "v4.f32", "v2.f64")
LITERALS = ("1", "-1", "4U", "1.0", "0f3F800000", "0d3FF0000000000000", "WARP_SZ", "(1)", "1+1", "g", "_")

_MODULE = (
    ".version 9.0\n.target sm_90a\n.address_size 64\n.global .b32 g[4];\n{}\n.visible .entry k()\n{{\n{}\nret;\n}}\n"
)


def _register(kind: str) -> str:
    return f".reg .{kind.replace('.', ' .')} x;"


def _calls() -> Iterator[tuple[str, str, str]]:
    """Yield the header of a function, what the caller declares, and the call."""
    kinds = (*TYPES, *VECTORS)
    for parameter in kinds:
        typed = f".{parameter.replace('.', ' .')}"
        for space in ("reg", "param"):
            for kind in kinds:
                passed = _register(kind)
                yield f".func f(.{space} {typed} a)", passed, "call f, (x);"
                yield f".func (.{space} {typed} a) f()", passed, "call (x), f;"
            for literal in LITERALS:
                yield f".func f(.{space} {typed} a)", "", f"call f, ({literal});"
            for kind in VECTORS:
                yield f".func f(.{space} {typed} a)", _register(kind), "call f, (x.x);"
        for kind in TYPES[1:]:
            yield f".func f(.param {typed} a)", f".param .{kind} x;", "call f, (x);"


def calls() -> tuple[str, ...]:
    """Return the modules, each of one function and one call of it."""
    return tuple(_MODULE.format(f"{header} {{ ret; }}", f"{declared}\n{call}") for header, declared, call in _calls())
