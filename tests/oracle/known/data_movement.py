"""mov, shfl, prmt, cvta and related instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^isspacep\S* .*`, is an integer literal": "ptxas takes a number for an address",
    r"^mov\.v[24]\.\S+ ": "ptxas copies one value to all elements of a vector, and any vector of the same length",
    r"^mov\.b128 [^;]*, (\w|%tid)": "ptxas takes any symbol, and the whole of %tid, for 128 bits",
    r"^mov\.b\d+ [^;]*\{[^}]*%pred": "ptxas takes a predicate for an element of .b32",
    r"^mov\.(f32|f64|pred) [^;]*, function": "ptxas takes a function's address for any type but the 16-bit f16",
}

LAXER: dict[str, str] = {
    r"^mov\.\S+ [^;]*, fp;": (
        "whether a .param variable is the kernel's own or an argument for a call, an instruction alone does not say"
    ),
}
