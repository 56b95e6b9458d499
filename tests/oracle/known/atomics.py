"""atom, red."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^red\S* _,": ("ptxas accepts `_` as the address of red, and then crashes in code generation"),
    r"^(atom|red)\S* [^|]*\[lmem\]": ("ptxas takes a local variable, and then crashes in code generation"),
    r"^red\S*\.(L2::cache_hint|v[248])\S* \[smem\]": (
        "the manual: cache policies and vectors go with global memory; ptxas holds atom to it, but not red"
    ),
    r"^atom\S* [^;]*,[^;]*,[^;]*,": ("ptxas ignores a fourth operand of atom.exch, .and, .or and .xor"),
    r"^(atom|red)\S*\.v[248]\S* [^|]*\{%b\d\d_\d+, [^}|]*%(pred|f\d\d|[us]\d\d)_": (
        "ptxas looks at the first element of a vector, and lets others of any type follow untyped bits"
    ),
}

LAXER: dict[str, str] = {}
