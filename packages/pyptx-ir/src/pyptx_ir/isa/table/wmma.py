"""Manual: "Matrix multiply-accumulate operation using wmma instructions": wmma.load, wmma.store, wmma.mma."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

SPACES = ("global", "shared", "shared::cta")
LAYOUTS = ("row", "col")
SQUARE = ("m16n16k16",)
OBLONG = ("m8n32k16", "m32n8k16")
ALL_16 = (*SQUARE, *OBLONG)

# wmma requires `.aligned` since PTX 6.3, and wmma.mma of f16 operands has no `.satfinite` since PTX 6.5.
ALIGNED_FROM = ptx(6, 3)
UNSATURATED_FROM = ptx(6, 5)


@dataclass(frozen=True, slots=True)
class Share:
    """Matrices (`which`: operands a, b, c) of these shapes and element types that wmma.load loads or wmma.store stores.

    `fragment` is the extent of a thread's fragment, or the number of its registers (see
    `pyptx_ir.isa.kinds.fragments`).
    """

    which: tuple[str, ...]
    shapes: tuple[str, ...]
    types: tuple[str, ...]
    fragment: str
    since: tuple[int, int]
    target: str
    layouts: tuple[str, ...] = LAYOUTS


FACTORS = (
    # Operands A and B of f16: each matrix element is held by two threads.
    *(
        Share(("a", "b"), shapes, ("f16",), "8 f16", since, "sm_70")
        for shapes, since in ((SQUARE, ptx(6, 0)), (OBLONG, ptx(6, 1)))
    ),
    Share(("a",), ALL_16, ("s8", "u8"), "mk type", ptx(6, 3), "sm_72"),
    Share(("b",), ALL_16, ("s8", "u8"), "kn type", ptx(6, 3), "sm_72"),
    Share(("a",), ALL_16, ("bf16",), "mk type", ptx(7, 0), "sm_80"),
    Share(("b",), ALL_16, ("bf16",), "kn type", ptx(7, 0), "sm_80"),
    Share(("a", "b"), ("m16n16k8",), ("tf32",), "mk type", ptx(7, 0), "sm_80"),
    Share(("a", "b"), ("m8n8k4",), ("f64",), "mk type", ptx(7, 0), "sm_80"),
    Share(("a",), ("m8n8k32",), ("s4", "u4"), "mk type", ptx(6, 3), "sm_75", ("row",)),
    Share(("b",), ("m8n8k32",), ("s4", "u4"), "kn type", ptx(6, 3), "sm_75", ("col",)),
    Share(("a",), ("m8n8k128",), ("b1",), "mk type", ptx(6, 3), "sm_75", ("row",)),
    Share(("b",), ("m8n8k128",), ("b1",), "kn type", ptx(6, 3), "sm_75", ("col",)),
)
SUMS = (
    Share(("c",), SQUARE, ("f16", "f32"), "mn type", ptx(6, 0), "sm_70"),
    Share(("c",), OBLONG, ("f16", "f32"), "mn type", ptx(6, 1), "sm_70"),
    Share(("c",), ALL_16, ("s32",), "mn type", ptx(6, 3), "sm_72"),
    Share(("c",), ("m8n8k32", "m8n8k128"), ("s32",), "mn type", ptx(6, 3), "sm_75"),
    Share(("c",), ("m16n16k8",), ("f32",), "mn type", ptx(7, 0), "sm_80"),
    Share(("c",), ("m8n8k4",), ("f64",), "mn type", ptx(7, 0), "sm_80"),
)


def _access(name: str, share: Share, operands: str) -> tuple[InstructionRow, ...]:
    """Return the rows of wmma.load or wmma.store: with `.aligned`, and without it where PTX before 6.3 allows that."""
    aligned = row(
        f"wmma.{name}.which.sync.aligned.layout.shape{{.ss}}.type {operands}{{, stride}}",
        which=share.which,
        layout=share.layouts,
        shape=share.shapes,
        ss=SPACES,
        type=share.types,
        operands={"r": f"fragment({share.fragment})", "stride": "int32"},
        access="wrr" if name == "store" else "",
        since=share.since,
        targets=(share.target,),
        leading=2,
        manual=f"wmma.{name}",
    )
    return (aligned, *_unaligned(aligned))


def _unaligned(form: InstructionRow) -> tuple[InstructionRow, ...]:
    if form.since >= ALIGNED_FROM:
        return ()
    return (replace(form, syntax=form.syntax.replace(".aligned", ""), before=(form.targets[0], ALIGNED_FROM)),)


def _product(
    shapes: Sequence[str],
    types: str,
    fragments: tuple[str, str, str, str],
    since: tuple[int, int],
    target: str,
    *,
    operation: str = "",
    any_layout: bool = True,
    **slots: Sequence[str],
) -> InstructionRow:
    """Return a form of wmma.mma; `fragments` are those of D, A, B and C."""
    layouts = {"alayout": LAYOUTS, "blayout": LAYOUTS} if any_layout else {}
    order = ".alayout.blayout" if any_layout else ".row.col"
    return row(
        f"wmma.mma{operation}.sync.aligned{order}.shape{types} d, a, b, c",
        operands={name: f"fragment({fragment})" for name, fragment in zip("dabc", fragments, strict=True)},
        since=since,
        targets=(target,),
        leading=1,
        manual="wmma.mma",
        slots={"shape": shapes, **layouts, **slots},
    )


def _halves(shapes: Sequence[str], since: tuple[int, int]) -> tuple[InstructionRow, ...]:
    """Return the wmma.mma rows of f16: the current form, and the removed forms."""
    fragments = ("mn dtype", "8 f16", "8 f16", "mn ctype")
    types = ("f16", "f32")
    form = _product(shapes, ".dtype.ctype", fragments, since, "sm_70", dtype=types, ctype=types)
    saturated = _product(shapes, ".dtype.ctype.satfinite", fragments, since, "sm_70", dtype=types, ctype=types)
    gone = replace(saturated, before=("sm_70", UNSATURATED_FROM))
    return (form, gone, *_unaligned(form), *_unaligned(saturated))


def _integers(type_name: str) -> InstructionRow:
    types = f".s32.{type_name}.{type_name}.s32{{.satfinite}}"
    fragments = ("mn s32", f"mk {type_name}", f"kn {type_name}", "mn s32")
    if type_name.endswith("8"):
        return _product(ALL_16, types, fragments, ptx(6, 3), "sm_72")
    return _product(("m8n8k32",), types, fragments, ptx(6, 3), "sm_75", any_layout=False)


def _bits(operation: str, since: tuple[int, int], target: str) -> InstructionRow:
    return _product(
        ("m8n8k128",),
        ".s32.b1.b1.s32",
        ("mn s32", "mk b1", "kn b1", "mn s32"),
        since,
        target,
        operation=f".{operation}.popc",
        any_layout=False,
    )


def _floats(shapes: Sequence[str], d: str, a: str, rounding: str = "") -> InstructionRow:
    fragments = (f"mn {d}", f"mk {a}", f"kn {a}", f"mn {d}")
    form = _product(shapes, f".{d}.{a}.{a}.{d}{rounding}", fragments, ptx(7, 0), "sm_80")
    return replace(form, slots=(*form.slots, ("rnd", ROUNDINGS))) if rounding else form


SUMMARIES = {
    "Warp matrices": {
        "wmma.load": "Load a fragment of a matrix into the registers of a warp.",
        "wmma.store": "Store a warp's accumulator fragments as a matrix in memory.",
        "wmma.mma": "Multiply two matrices in the fragments of a warp, and add a third matrix.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(form for share in (*FACTORS, *SUMS) for form in _access("load", share, "r, [a]")),
    *(form for share in SUMS for form in _access("store", replace(share, which=("d",)), "[a], r")),
    *_halves(SQUARE, ptx(6, 0)),
    *_halves(OBLONG, ptx(6, 1)),
    *map(_integers, ("s8", "u8", "s4", "u4")),
    _floats(ALL_16, "f32", "bf16"),
    _floats(("m16n16k8",), "f32", "tf32"),
    _floats(("m8n8k4",), "f64", "f64", "{.rnd}"),
    _bits("xor", ptx(6, 3), "sm_75"),
    _bits("and", ptx(7, 1), "sm_80"),
)
