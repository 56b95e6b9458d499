"""Products of matrices by a warp."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^mma\.": ("ptxas reads over surplus types of mma, and takes two register counts for fp8 with k16"),
    r"^movmatrix\S* [^;]*%pred": ("ptxas takes a predicate for a fragment, and then crashes in code generation"),
}

LAXER: dict[str, str] = {}
