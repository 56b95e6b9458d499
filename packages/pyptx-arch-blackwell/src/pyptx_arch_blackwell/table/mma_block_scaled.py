"""Instruction table: "… Instruction: mma", "… mma.sp", for 4-, 6- and 8-bit elements and block scaling."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_ir.isa.rows import InstructionRow, ptx, row

F8F6F4 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
FAMILY = ("sm_120f",)
# Targets of sparse mma.sync instructions with packed fp4 operands.
DEVICES = ("sm_120a", "sm_121a")
SINCE = ptx(8, 7)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A kind of block-scaled MMA, with a block size of the scale factors.

    `elements` is the type that determines the register contents of a and b, `bytes` the valid byte selectors of the
    scale factors' registers ("Block Scaling for mma.sync": valid values of selector components).
    """

    kind: str
    size: str
    scales: str
    depth: int
    types: str
    elements: tuple[str, str]
    bytes: str
    since: tuple[int, int] = SINCE


PACKED = ("b4 bits", "b4 bits")
SCALED = (
    Scaled("mxf8f6f4", "{.scale_vec::1X}", "ue8m0", 32, ".atype.btype", ("atype bits", "btype bits"), "0..3"),
    Scaled("mxf4", "{.scale_vec::2X}", "ue8m0", 64, ".e2m1.e2m1", PACKED, "0 2"),
    Scaled("mxf4nvf4", ".scale_vec::2X", "ue8m0", 64, ".e2m1.e2m1", PACKED, "0 2"),
    Scaled("mxf4nvf4", ".scale_vec::4X", "ue4m3", 64, ".e2m1.e2m1", PACKED, "0"),
    Scaled("mxf4nvf4", ".scale_vec::4X", "ue8m0", 64, ".e2m1.e2m1", PACKED, "0", since=ptx(9, 1)),
)


def _fragments(d: str, a: str, b: str, *, sparse: bool) -> dict[str, str]:
    half = "/2" if sparse else ""
    metadata = {"e": "register(b32)", "f": "imm in 0"} if sparse else {}
    return {
        "d": f"fragment(mn {d})",
        "a": f"fragment(mk{half} {a})",
        "b": f"fragment(kn {b})",
        "c": f"fragment(mn {d})",
        **metadata,
    }


def _plain(d: str, *, sparse: bool, kind: str = ".kind::f8f6f4", types: tuple[str, ...] = F8F6F4) -> InstructionRow:
    """Return the instruction-table row of MMAs of any two 8-, 6- and 4-bit float types, without scale factors.

    An element of any of these types occupies one byte of a register.
    """
    fragments = _fragments(d, "atype", "btype", sparse=sparse)
    variant, shape = (".sp::ordered_metadata", "m16n8k64") if sparse else ("", "m16n8k32")
    return row(
        f"mma{variant}.sync.aligned.shape.row.col{kind}.{d}.atype.btype.{d} {', '.join(fragments)}",
        shape=(shape,),
        atype=types,
        btype=types,
        operands=fragments,
        since=SINCE,
        targets=FAMILY,
        manual="mma.sp" if sparse else "mma",
        instruction=f"mma{variant}",
    )


def _scaled(form: Scaled, *, sparse: bool) -> InstructionRow:
    fragments = _fragments("f32", *form.elements, sparse=sparse)
    selectors = {"byte_a": f"selectors({form.bytes}, 0..1)", "byte_b": f"selectors({form.bytes}, 0..3)"}
    operands = "scale_a, {byte_a, thread_a}, scale_b, {byte_b, thread_b}"
    types = {"atype": F8F6F4, "btype": F8F6F4} if "atype" in form.types else {}
    variant = ".sp::ordered_metadata" if sparse else ""
    depth = form.depth * (2 if sparse else 1)
    return row(
        f"mma{variant}.sync.aligned.shape.row.col.kind::{form.kind}.block_scale{form.size}"
        f".f32{form.types}.f32.{form.scales} {', '.join(fragments)}, {operands}",
        operands=fragments | dict.fromkeys(("scale_a", "scale_b"), "braced(b32)") | selectors,
        access="w" + "r" * (len(fragments) + 3),
        since=form.since,
        targets=DEVICES if sparse and form.elements == PACKED else FAMILY,
        manual="mma.sp (block scaling)" if sparse else "mma (block scaling)",
        instruction=f"mma{variant}",
        slots={"shape": (f"m16n8k{depth}",), **types},
    )


ROWS = (
    *(_plain(d, sparse=sparse) for sparse in (False, True) for d in ("f16", "f32")),
    # mma.sync of e4m3 and e5m2 needs no .kind. The core's instruction table has the dense form; this is the sparse one.
    _plain("f16", sparse=True, kind="", types=F8F6F4[:2]),
    *(_scaled(form, sparse=sparse) for sparse in (False, True) for form in SCALED),
)
