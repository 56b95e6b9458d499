"""ld, st and related instructions."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^(ld|st)(?=\S*\.L2::evict)(?=\S*\.(c[agsv]|lu|w[bt]|volatile|proxy::readonly)\b)": (
        "the manual: eviction priorities do not go with cache operators, nor with .volatile or .proxy::readonly"
    ),
    r"^ld\.(?=\S*\bnc\b)\S*proxy::readonly": "the manual: .proxy::readonly is a load of its own, without .nc",
    r"^(ld\S*\.b32 |st\S*\.b32 \S+ )\{[^}]*%pred": "ptxas takes a predicate for an element of .b32",
    r"^(ld|st)(?=\S*\.param::func)\S* .*a \.param variable, not": "ptxas 13.0 checks no such address",
}

LAXER: dict[str, str] = {
    r"^st\S*\.param\S* \[(pp|tmap)\]|^ld\S*param::entry\S* [^;]*\[fp\]|^ld\S*param::func\S* [^;]*\[(pp|tmap)\]": (
        "whether a .param variable is the kernel's own or an argument for a call, an instruction alone does not say"
    ),
}
