"""tcgen05.mma: MMA of operands in tensor and shared memory."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^tcgen05\.mma.*, `!?%pred_\d`, is (negated|a \.pred register); .*(a vector of|without `!`)": (
        "ptxas accepts a predicate as the vector of disabled lanes"
    ),
}

LAXER: dict[str, str] = {
    r"^tcgen05\.mma\S*kind::mxf\w+\.block_scale[. ].*'\.block32' requires PTX": (
        "ptxas 13.0 reads an omitted block size as .block32, and requires its PTX version; ptxas 13.5 does not"
    ),
}
