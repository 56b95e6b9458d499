"""clusterlaunchcontrol."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^clusterlaunchcontrol\S*\.v4\S* \{%b32_\d+, [^}|]*%pred_": (
        "ptxas looks at the first element of a vector, and lets others of any type follow untyped bits"
    ),
}

LAXER: dict[str, str] = {}
