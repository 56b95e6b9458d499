"""Manual: "Video Instructions"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TYPES = ("u32", "s32")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SECONDARY = ("add", "min", "max")

# Selector of a byte or half of a 32-bit register, in scalar video instructions.
SELECTOR = "b[0-3]|h[01]"
# Selectors of video instructions on pairs and quads: `MASKS` for the parts of `d` that are written, `PICKS` for the
# elements of both sources.
MASKS = {"2": "h0|h1|h10", "4": "b[0-3]|b[123]0|b[23]1|b32|b[23]10|b32[01]|b3210"}
PICKS = {"2": "h[0-3][0-3]", "4": "b[0-7][0-7][0-7][0-7]"}

PLAIN = "part()"
SOURCE = f"part_or_constant({SELECTOR})"

SIGNED, NEGATIVE = f"signed_part({SELECTOR})", f"negative_part({SELECTOR})"
ADDEND, NEGATIVE_ADDEND = "part_or_constant()", "negative_part()"
SOURCES = {"d": PLAIN, "a": SOURCE, "b": SOURCE, "c": ADDEND}
MULTIPLY_ADD = (
    ("", "d, a, b, c", {"a": SIGNED, "b": SIGNED, "c": ADDEND}),
    ("", "d, a, b, minus_c", {"a": SOURCE, "b": SOURCE, "minus_c": NEGATIVE_ADDEND}),
    ("", "d, minus_a, minus_b, minus_c", {"minus_a": NEGATIVE, "minus_b": NEGATIVE, "minus_c": NEGATIVE_ADDEND}),
    (".po", "d, a, b, c", {"a": SOURCE, "b": SOURCE, "c": ADDEND}),
)


def _video(
    line: str,
    manual: str,
    *,
    operands: Mapping[str, str],
    slots: Mapping[str, Sequence[str]],
    since: tuple[int, int] = ptx(2, 0),
) -> InstructionRow:
    return row(line, operands=operands, since=since, manual=manual, slots=slots)


def _scalar(head: str, name: str, **slots: Sequence[str]) -> tuple[InstructionRow, ...]:
    """Return a video operation's forms: alone, with a secondary operation, with the result merged into part of `d`."""
    merged = {**SOURCES, "d": f"part({SELECTOR})"}
    return (
        _video(f"{head} d, a, b", name, operands=SOURCES, slots=slots),
        _video(f"{head}.second d, a, b, c", name, operands=SOURCES, slots={**slots, "second": SECONDARY}),
        _video(f"{head} d, a, b, c", name, operands=merged, slots=slots),
    )


def _multiply_add() -> tuple[InstructionRow, ...]:
    """Return the forms of vmad: either factor or the addend may be negated, except with `.po`."""
    return tuple(
        _video(
            f"vmad.dtype.atype.btype{more}{{.sat}}{{.scale}} {places}",
            "vmad",
            operands={"d": PLAIN, **kinds},
            slots={"dtype": TYPES, "atype": TYPES, "btype": TYPES, "scale": ("shr7", "shr15")},
        )
        for more, places, kinds in MULTIPLY_ADD
    )


def _simd(count: str) -> tuple[InstructionRow, ...]:
    """Return the video operations on pairs (halves) or quads (bytes), which merge or add their results."""
    operands = {"d": f"part({MASKS[count]})", "a": f"part({PICKS[count]})", "b": f"part({PICKS[count]})", "c": PLAIN}
    types = {"atype": TYPES, "btype": TYPES}
    found = [
        _video(
            f"{name}{count}.dtype.atype.btype{tail} d, a, b, c",
            f"{name}{count}",
            operands=operands,
            since=ptx(3, 0),
            slots={"dtype": TYPES, **types},
        )
        for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
        for tail in ("{.sat}", ".add")
    ]
    comparison = _video(
        f"vset{count}.atype.btype.compare{{.add}} d, a, b, c",
        f"vset{count}",
        operands=operands,
        since=ptx(3, 0),
        slots={"compare": COMPARISONS, **types},
    )
    return (*found, comparison)


SUMMARIES = {
    "Video": {
        "vadd": "Add two 8-, 16- or 32-bit integers; optionally combine the sum with a third operand.",
        "vsub": "Subtract two 8-, 16- or 32-bit integers; optionally combine the difference with a third operand.",
        "vabsdiff": "Take the absolute difference of two 8-, 16- or 32-bit integers, optionally combined with a third.",
        "vmin": "Take the smaller of two 8-, 16- or 32-bit integers; optionally combine it with a third operand.",
        "vmax": "Take the larger of two 8-, 16- or 32-bit integers; optionally combine it with a third operand.",
        "vshl": "Shift an 8-, 16- or 32-bit integer left; optionally combine the result with a third operand.",
        "vshr": "Shift an 8-, 16- or 32-bit integer right; optionally combine the result with a third operand.",
        "vmad": "Multiply two 8-, 16- or 32-bit integers, add a third operand, and optionally shift right.",
        "vset": "Compare two 8-, 16- or 32-bit integers; optionally combine the result with a third operand.",
        "vadd2": "Add packed 16-bit integers, two per register; .add adds them to a third.",
        "vsub2": "Subtract packed 16-bit integers, two per register; .add adds them to a third.",
        "vavrg2": "Average packed 16-bit integers, two per register; .add adds them to a third.",
        "vabsdiff2": "Take absolute differences of packed 16-bit integers, two per register; .add adds a third.",
        "vmin2": "Take the minima of packed 16-bit integers, two per register; .add adds them to a third.",
        "vmax2": "Take the maxima of packed 16-bit integers, two per register; .add adds them to a third.",
        "vset2": "Compare packed 16-bit integers, two per register; .add adds them to a third.",
        "vadd4": "Add packed bytes, four per register; .add adds them to a third.",
        "vsub4": "Subtract packed bytes, four per register; .add adds them to a third.",
        "vavrg4": "Average packed bytes, four per register; .add adds them to a third.",
        "vabsdiff4": "Take absolute differences of packed bytes, four per register; .add adds them to a third.",
        "vmin4": "Take the minima of packed bytes, four per register; .add adds them to a third.",
        "vmax4": "Take the maxima of packed bytes, four per register; .add adds them to a third.",
        "vset4": "Compare packed bytes, four per register; .add adds them to a third.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(
        form
        for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
        for form in _scalar(f"{name}.dtype.atype.btype{{.sat}}", name, dtype=TYPES, atype=TYPES, btype=TYPES)
    ),
    *(
        form
        for name in ("vshl", "vshr")
        for form in _scalar(
            f"{name}.dtype.atype.u32{{.sat}}.mode", name, dtype=TYPES, atype=TYPES, mode=("clamp", "wrap")
        )
    ),
    *_multiply_add(),
    *_scalar("vset.atype.btype.compare", "vset", atype=TYPES, btype=TYPES, compare=COMPARISONS),
    *_simd("2"),
    *_simd("4"),
)
