"""Manual: "Control Flow Instructions", "Miscellaneous Instructions", "Stack Manipulation Instructions"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised

ADDRESSES = ("u32", "u64")

ALIGNMENTS = " ".join(str(1 << power) for power in range(24))

# The callee of a call: a function, or a register with a function's address and its possible targets.
CALLED = (
    ("f", "", {"f": "function"}, ptx(1, 0)),
    ("pointer", ", callees", {"pointer": "pointer", "callees": "callees"}, ptx(2, 1)),
)
# The manual has no call with results but no arguments; ptxas accepts it, for functions without parameters.
LISTS = (("", ""), ("", ", arguments"), ("results, ", ""), ("results, ", ", arguments"))

SUMMARIES = {
    "Control flow": {
        "bra": "Branch to a label.",
        "brx.idx": "Branch to one of a list of labels, by index.",
        "call": "Call a function, by name or through a pointer.",
        "ret": "Return from a function; in an entry, end the thread.",
        "exit": "End the thread.",
    },
    "Stack": {
        "stacksave": "Read the stack pointer.",
        "stackrestore": "Set the stack pointer to a value that stacksave has read.",
        "alloca": "Allocate local memory on the stack.",
    },
    "Miscellaneous": {
        "brkpt": "Suspend execution for a debugger.",
        "nanosleep": "Suspend the thread for approximately the given number of nanoseconds.",
        "pmevent": "Trigger one of 16 performance-monitor events.",
        "pmevent.mask": "Trigger the performance-monitor events whose bits are set in a mask.",
        "trap": "Abort the kernel and interrupt the host.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(
        row(
            f"call{{.uni}} {results}{called}{arguments}{behind}",
            operands={**operands, "results": "list", "arguments": "list"},
            access=("w" if results else "") + "rrr"[: 1 + bool(arguments) + bool(behind)],
            since=since,
            manual="call",
        )
        for called, behind, operands, since in CALLED
        for results, arguments in LISTS
    ),
    row("bra{.uni} target", operands={"target": "label"}, access="r", manual="bra"),
    row(
        "brx.idx{.uni} index, targets",
        operands={"index": "int32", "targets": "branches"},
        access="rr",
        since=ptx(6, 0),
        leading=1,
        manual="brx.idx",
    ),
    row("ret{.uni}", manual="ret"),
    row("exit", manual="exit"),
    row("trap", manual="trap"),
    row("brkpt", manual="brkpt"),
    row("pmevent a", operands={"a": "imm in 0..15"}, access="r", since=ptx(1, 4), manual="pmevent"),
    row(
        "pmevent.mask a",
        operands={"a": "imm in 0..65535"},
        access="r",
        since=ptx(3, 0),
        manual="pmevent",
        instruction="pmevent.mask",
    ),
    row(
        "nanosleep.u32 t", operands={"t": "int32"}, access="r", since=ptx(6, 3), targets=("sm_70",), manual="nanosleep"
    ),
    row("stacksave.type d", type=ADDRESSES, since=ptx(7, 3), targets=("sm_52",), manual="stacksave"),
    row("stackrestore.type a", type=ADDRESSES, access="x", since=ptx(7, 3), targets=("sm_52",), manual="stackrestore"),
    row(
        "alloca.type ptr, size{, align}",
        type=ADDRESSES,
        operands={"align": f"imm in {ALIGNMENTS}"},
        since=ptx(7, 3),
        targets=("sm_52",),
        manual="alloca",
    ),
)
