"""ld, st and related instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(ld|st)(?=\S*\.L2::evict)(?=\S*\.(c[agsv]|lu|w[bt]|volatile|proxy::readonly)\b)": (
        "the manual does not allow eviction priorities with cache operators, .volatile or .proxy::readonly"
    ),
    r"^ld\.(?=\S*\bnc\b)\S*proxy::readonly": "the manual does not allow .proxy::readonly with .nc",
    r"^(ld\S*\.b32 |st\S*\.b32 \S+ )\{[^}]*%pred": "ptxas accepts a predicate as an element of .b32",
    r"^(ld|st)(?=\S*\.param::func)\S* .*a \.param variable, not": (
        "ptxas 13.0 does not check the addresses of ld.param::func and st.param::func"
    ),
}

LAXER: dict[str, str] = {
    r"^st\S*\.param\S* \[(pp|tmap)\]|^ld\S*param::entry\S* [^;]*\[fp\]|^ld\S*param::func\S* [^;]*\[(pp|tmap)\]": (
        "the instruction does not determine whether a .param variable is a parameter of the kernel or an "
        "argument of a call"
    ),
}
