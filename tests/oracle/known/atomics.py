"""atom, red."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^red\S* _,": ("ptxas accepts `_` as the address of red, and then crashes in code generation"),
    r"^(atom|red)\S* [^|]*\[lmem\]": ("ptxas accepts a local variable, and then crashes in code generation"),
    r"^red\S*\.(L2::cache_hint|v[248])\S* \[smem\]": (
        "the manual has cache policies and vectors for global memory only; ptxas checks this for atom, but not for red"
    ),
    r"^atom\S* [^;]*,[^;]*,[^;]*,": ("ptxas ignores a fourth operand of atom.exch, .and, .or and .xor"),
    r"^(atom|red)\S*\.v[248]\S* [^|]*\{%b\d\d_\d+, [^}|]*%(pred|f\d\d|[us]\d\d)_": (
        "ptxas checks only the first element of a vector; after one of .b type it accepts elements of any type"
    ),
}

LAXER: dict[str, str] = {}
