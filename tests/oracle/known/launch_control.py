"""clusterlaunchcontrol."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^clusterlaunchcontrol\S*\.v4\S* \{%b32_\d+, [^}|]*%pred_": (
        "ptxas checks only the first element of a vector; after one of .b type it accepts elements of any type"
    ),
}

LAXER: dict[str, str] = {}
