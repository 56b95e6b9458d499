"""Instruction table: instructions on multimem addresses, which refer to memory of several devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_arch_hopper.table.bulk_copy import HOPPER, STORE, form, ordered, reductions
from pyptx_ir.isa.rows import ptx, summarised

if TYPE_CHECKING:
    from pyptx_ir.isa.rows import InstructionRow

BLACKWELL = ("sm_100",)
# Targets of multimem instructions with 8-bit floating-point types.
EIGHT_BITS = ("sm_100f", "sm_110f", "sm_120a", "sm_121a")
INTEGERS = ("u32", "u64", "s32", "s64")
BITS = ("b32", "b64")
BYTES = tuple(f"{kind}{bits}" for kind in "bus" for bits in (8, 16, 32, 64))
WIDE_SCOPES = ("gpu", "sys")
SIZED = {"a": "address(sized)"}
INDEXED = {"a": "address(sized indexed)"}  # ptxas accepts name[index] as an address in multimem.red only


@dataclass(frozen=True, slots=True)
class Floats:
    """Floating-point types that support the same vector lengths in multimem instructions.

    `held` is the register type for one element, if the type is not a register type. `accumulate` is the accumulation
    precision other than the type's own, since PTX version `accumulated`.
    """

    types: tuple[str, ...]
    vector: str
    vectors: tuple[str, ...]
    ops: tuple[str, ...] = ("add", "min", "max")
    held: str = "type"
    accumulate: str = ""
    accumulated: tuple[int, int] = ptx(8, 2)
    since: tuple[int, int] = ptx(8, 1)
    targets: tuple[str, ...] = HOPPER


def _eight(types: tuple[str, ...], vector: str, vectors: tuple[str, ...], held: str) -> Floats:
    return Floats(
        types,
        vector,
        vectors,
        held=held,
        accumulate="acc::f16",
        accumulated=ptx(8, 6),
        since=ptx(8, 6),
        targets=EIGHT_BITS,
    )


HALVES = Floats(("f16", "bf16"), ".vec", ("v2", "v4", "v8"), accumulate="acc::f32")
PAIRS = Floats(("f16x2", "bf16x2"), "{.vec}", ("v2", "v4"), accumulate="acc::f32")
SINGLES = Floats(("f32",), "{.vec}", ("v2", "v4"), ops=("add",))
DOUBLES = Floats(("f64",), "", (), ops=("add",))
REDUCIBLE = (HALVES, PAIRS, SINGLES, DOUBLES)
FLOATS = (
    *REDUCIBLE,
    _eight(("e5m2", "e4m3"), ".vec", ("v4", "v8"), "b8"),
    _eight(("e5m2x2", "e4m3x2"), ".vec", ("v2", "v4", "v8"), "b16"),
    _eight(("e5m2x4", "e4m3x4"), "{.vec}", ("v2", "v4"), "b32"),
)
OPS = (
    (("add",), ("u32", "u64", "s32")),
    (("min", "max"), INTEGERS),
    (("and", "or", "xor"), BITS),
)


def _forms(name: str, orders: tuple[str, ...], weak: str, operands: str, access: str) -> tuple[InstructionRow, ...]:
    """Return an instruction's rows in the instruction table: integers and floats, without ordering and with a scope."""
    op = "" if name == "multimem.st" else ".op"
    ops = ((("",), (*BITS, *INTEGERS)),) if name == "multimem.st" else OPS
    floats = REDUCIBLE if name == "multimem.red" else FLOATS
    found: list[InstructionRow] = []
    for words in (weak, ".sem.scope"):
        head = f"{name}{words}{{.global}}{op}"
        address = INDEXED if name == "multimem.red" else SIZED
        found += [
            form(f"{head}.type {operands}", address, since=ptx(8, 1), access=access, sem=orders, op=each, type=types)
            for each, types in ops
        ]
        for each in floats:
            found.append(_on_floats(f"{head}{each.vector}.type {operands}", each, orders, access))
            if name == "multimem.ld_reduce" and each.accumulate:
                line = f"{name}{words}{{.global}}.add.{each.accumulate}{each.vector}.type {operands}"
                found.append(_on_floats(line, each, orders, access, since=each.accumulated))
    return tuple(found)


def _on_floats(
    line: str, floats: Floats, orders: tuple[str, ...], access: str, *, since: tuple[int, int] | None = None
) -> InstructionRow:
    held = f"vec({floats.held})" if floats.vectors else floats.held
    return form(
        line,
        {**(INDEXED if line.startswith("multimem.red") else SIZED), "b" if line.endswith("b") else "d": held},
        since=since or floats.since,
        targets=floats.targets,
        access=access,
        sem=orders,
        op=("add",) if line.startswith("multimem.red") else floats.ops,
        vec=floats.vectors,
        type=floats.types,
    )


SUMMARIES = {
    "Data movement": {
        "multimem.ld_reduce": "Load from a multimem address on every device, and reduce the values.",
        "multimem.st": "Store to a multimem address on every device.",
        "multimem.red": "Perform a reduction at a multimem address on every device.",
        "multimem.st.async": "Store to a multimem address on every device, asynchronously.",
    },
    "Asynchronous copies": {
        "multimem.cp.async.bulk": "Copy contiguous memory to a multimem address on every device.",
        "multimem.cp.reduce.async.bulk": "Reduce contiguous memory into a multimem address on every device.",
    },
    "Atomics": {
        "multimem.red.async": "Perform a reduction at a multimem address on every device, asynchronously.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_forms("multimem.ld_reduce", ("relaxed", "acquire"), "{.weak}", "d, [a]", "w"),
    *_forms("multimem.st", ("relaxed", "release"), "{.weak}", "[a], b", "w"),
    *_forms("multimem.red", ("relaxed", "release"), "", "[a], b", "x"),
    form(
        "multimem.st.async.sem.scope{.global}.type [a], b",
        {"b": "relaxed(type)"},
        since=ptx(9, 3),
        targets=BLACKWELL,
        access="w",
        sem=("release",),
        scope=WIDE_SCOPES,
        type=(*BYTES, "f32", "f64"),
    ),
    form(
        "multimem.red.async.sem.scope{.global}.op.type [a], b",
        since=ptx(9, 3),
        targets=BLACKWELL,
        access="x",
        sem=("release",),
        scope=WIDE_SCOPES,
        op=("add",),
        type=("u32", "s32", "u64"),
    ),
    *ordered(
        "multimem.cp.async.bulk",
        "global.shared::cta.bulk_group{.cp_mask}",
        "[dst], [src], size{, byte_mask}",
        STORE,
        since=ptx(9, 1),
    ),
    *reductions("multimem.cp.reduce.async.bulk", "", ptx(9, 1)),
)
