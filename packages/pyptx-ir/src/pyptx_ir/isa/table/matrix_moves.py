"""Manual: "Warp-level matrix load instruction: ldmatrix", "Warp-level matrix transpose instruction: movmatrix"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHARED = ("shared", "shared::cta")
# Registers per thread that hold 1, 2 or 4 matrices, by `.num`.
SINGLE: dict[str, int] = {"x1": 1, "x2": 2, "x4": 4}
DOUBLE: dict[str, int] = {"x1": 2, "x2": 4}
BYTES_SINCE = ptx(8, 6)
BYTES_ON = ("sm_100f", "sm_110f", "sm_120f")
UNPACKED = ("b6x16_p32", "b4x16_p64")


def _load(
    shape: str,
    words: str,
    counts: Mapping[str, int],
    since: tuple[int, int],
    targets: Sequence[str],
    **slots: Sequence[str],
) -> InstructionRow:
    """Return a form of ldmatrix; `words` are the modifiers after `.num`."""
    return row(
        f"ldmatrix.sync.aligned.shape.num{words} d, [a]",
        lengths={"num": tuple(counts.values())},
        operands={"d": "fragment(num b32)"},
        since=since,
        targets=targets,
        manual="ldmatrix",
        slots={"shape": (shape,), "num": tuple(counts), "ss": SHARED, **slots},
    )


SUMMARIES = {
    "Warp matrices": {
        "ldmatrix": "Load small matrices from shared memory into registers, in the layout of mma fragments.",
        "movmatrix": "Transpose an 8x8 matrix in the registers of a warp.",
    },
}

ROWS = summarised(
    SUMMARIES,
    _load("m8n8", "{.trans}{.ss}.type", SINGLE, ptx(6, 5), ("sm_75",), type=("b16",)),
    _load("m16n16", ".trans{.ss}.type", DOUBLE, BYTES_SINCE, BYTES_ON, type=("b8",)),
    _load("m16n16", ".trans{.ss}.type.source", DOUBLE, BYTES_SINCE, BYTES_ON, type=("b8x16",), source=UNPACKED),
    _load("m8n16", "{.ss}.type.source", SINGLE, BYTES_SINCE, BYTES_ON, type=("b8x16",), source=UNPACKED),
    _load("m8n16", "{.ss}.type.source", SINGLE, ptx(9, 4), ("sm_90a", *BYTES_ON), type=("s8",), source=("s4",)),
    row(
        "movmatrix.sync.aligned.m8n8.trans.b16 d, a",
        operands={"d": "b32", "a": "register(b32)"},
        since=ptx(7, 8),
        targets=("sm_75",),
        manual="movmatrix",
    ),
)
