"""Manual: "Data Movement and Conversion Instructions", without loads, stores (memory.py) and cvt (conversion.py)."""

from __future__ import annotations

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import BITS, INTEGERS

ADDRESSES = ("u32", "u64")
SPACES = ("const", "global", "local", "shared", "shared::cta", "shared::cluster")
PARAMETERS = ("param", "param::entry")
SHUFFLE = {"b": "b32", "c": "b32", "membermask": "int32"}

# Forms of mov that split a register into parts or join them: type of the register, number of parts, type of a part.
PARTS = (
    ("b16", 2, "b8"),
    ("b32", 4, "b8"),
    ("b32", 2, "b16"),
    ("b64", 4, "b16"),
    ("b64", 2, "b32"),
    ("b128", 4, "b32"),
    ("b128", 2, "b64"),
)


def _splits() -> tuple[InstructionRow, ...]:
    """Return the forms of mov that pack or unpack a vector."""
    found: list[InstructionRow] = []
    for whole, count, part in PARTS:
        since, targets = (ptx(8, 3), ("sm_70",)) if whole == "b128" else (ptx(1, 0), ())
        sources, results = ", ".join("abef"[:count]), ", ".join("defg"[:count])
        for operands, name in ((f"d, {{{sources}}}", "a"), (f"{{{results}}}, a", "d")):
            found.append(
                row(
                    f"mov.{whole} {operands}",
                    operands={"d": whole, "a": f"movable({whole}) or special", name: f"{count}*{part}"},
                    access="wr",
                    since=since,
                    targets=targets,
                    manual="mov (packing)",
                )
            )
    return tuple(found)


def _address_conversions(spaces: tuple[str, ...], since: tuple[int, int]) -> tuple[InstructionRow, ...]:
    """Return the forms of isspacep and cvta for these state spaces."""
    return (
        row("isspacep.space p, a", space=spaces, operands={"a": "pointer"}, since=since, manual="isspacep"),
        row(
            "cvta.space.size p, a",
            space=spaces,
            size=ADDRESSES,
            operands={"p": "size", "a": "variable(size)"},
            since=since,
            manual="cvta",
        ),
        row(
            "cvta.to.space.size p, a",
            space=spaces,
            size=ADDRESSES,
            operands={"p": "size", "a": "size"},
            leading=True,
            since=since,
            manual="cvta",
        ),
    )


SUMMARIES = {
    "Bits": {
        "prmt": "Select four of the eight bytes in two 32-bit registers, each byte by a selector.",
    },
    "Data movement": {
        "mov": "Copy a register, constant, special register or address; or pack and unpack a vector.",
        "shfl": "Exchange values between the lanes of a warp, on targets before sm_70.",
        "shfl.sync": "Exchange values between the lanes of a warp in a membermask.",
        "isspacep": "Test whether a generic address is in a state space.",
        "cvta": "Convert an address from a state space to generic, or from generic to a state space.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row(
        "mov.type d, a",
        type=(*BITS, *INTEGERS, "f32", "f64"),
        operands={"a": "movable(type) or special"},
        manual="mov",
    ),
    *_splits(),
    row("mov.pred d, a", operands={"a": "pred or ! or special"}, manual="mov"),
    row("mov.b128 d, a", since=ptx(8, 3), targets=("sm_70",), manual="mov"),
    row(
        "mov.v2.type d, a",
        type=(*BITS, *INTEGERS, "f32", "f64"),
        operands={"d": "vec(type)", "a": "vec(type)"},
        manual="mov",
    ),
    row(
        "mov.v4.type d, a",
        type=("b16", "b32", "u16", "u32", "s16", "s32", "f32"),
        operands={"d": "vec(type)", "a": "vec(type) or special"},
        manual="mov",
    ),
    row(
        "shfl.mode.b32 d{|p}, a, b, c",
        mode=("up", "down", "bfly", "idx"),
        operands=SHUFFLE,
        before=("sm_70", ptx(6, 4)),
        manual="shfl",
    ),
    row(
        "shfl.sync.mode.b32 d{|p}, a, b, c, membermask",
        mode=("up", "down", "bfly", "idx"),
        operands=SHUFFLE,
        since=ptx(6, 0),
        manual="shfl.sync",
    ),
    row("prmt.b32{.mode} d, a, b, c", mode=("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"), since=ptx(2, 0), manual="prmt"),
    *_address_conversions(SPACES, ptx(2, 0)),
    *_address_conversions(PARAMETERS, ptx(7, 7)),
)
