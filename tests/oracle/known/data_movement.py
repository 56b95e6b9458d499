"""mov, shfl, prmt, cvta and related instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^isspacep\S* .*`, is an integer literal": ("ptxas accepts a number as the address of isspacep"),
    r"^mov\.v[24]\.\S+ ": (
        "in mov of vectors, ptxas copies one value to all elements, and accepts any vector of the same length"
    ),
    r"^mov\.b128 [^;]*, (\w|%tid)": ("in mov.b128, ptxas accepts any symbol, and the vector %tid"),
    r"^mov\.b\d+ [^;]*\{[^}]*%pred": "ptxas accepts a predicate as an element of .b32",
    r"^mov\.(f32|f64|pred) [^;]*, function": (
        "in mov, ptxas accepts a function's address for every type except the 16-bit f16"
    ),
}

LAXER: dict[str, str] = {
    r"^mov\.\S+ [^;]*, fp;": (
        "the instruction does not determine whether a .param variable is a parameter of the kernel or an "
        "argument of a call"
    ),
}
