"""Manual: "Control Flow Instructions", "Miscellaneous Instructions", "Stack Manipulation Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row

ADDRESSES = ("u32", "u64")

# `call` takes its operands in too many ways for a syntax line, and `brx.idx` names a list: neither has a row.
ROWS = (
    row("bra{.uni} target", operands={"target": "label"}, access="r", manual="bra"),
    row("ret{.uni}", manual="ret"),
    row("exit", manual="exit"),
    row("trap", manual="trap"),
    row("brkpt", manual="brkpt"),
    row("pmevent a", operands={"a": "imm"}, access="r", since=ptx(1, 4), manual="pmevent"),
    row("pmevent.mask a", operands={"a": "imm"}, access="r", since=ptx(3, 0), manual="pmevent"),
    row(
        "nanosleep.u32 t", operands={"t": "int32"}, access="r", since=ptx(6, 3), targets=("sm_70",), manual="nanosleep"
    ),
    row("stacksave.type d", type=ADDRESSES, since=ptx(7, 3), targets=("sm_52",), manual="stacksave"),
    row("stackrestore.type a", type=ADDRESSES, access="r", since=ptx(7, 3), targets=("sm_52",), manual="stackrestore"),
    row(
        "alloca.type ptr, size{, align}",
        type=ADDRESSES,
        operands={"align": "imm"},
        since=ptx(7, 3),
        targets=("sm_52",),
        manual="alloca",
    ),
)
