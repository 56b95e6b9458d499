"""Instruction table: "TensorCore 5th Generation of MMA Instructions".

Operand B is in shared memory, the accumulator in tensor memory, and operand A in shared or tensor memory. ptxas accepts
a tensor memory address of an MMA only in a .b32 register.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyptx_arch_blackwell.table.tcgen05 import GROUPS, TARGETS, tcgen05
from pyptx_ir.isa.rows import InstructionRow, ptx, summarised

if TYPE_CHECKING:
    from collections.abc import Mapping

FLOATS = ("kind::f16", "kind::tf32", "kind::f8f6f4")
ALONE = ("sm_100a", "sm_103a", "sm_107a", "sm_110a")
RUBIN = ("sm_107f",)

OPERATIONS = ("fill", "use", "lastuse", "discard")
COLLECTOR_A = tuple(f"collector::a::{operation}" for operation in OPERATIONS)
# Collector modifiers of tcgen05.mma that are valid with .ashift; the collector buffer cannot keep shifted rows.
COLLECTOR_SHIFTED = ("collector::a::lastuse", "collector::a::discard")
COLLECTOR_B = tuple(f"collector::b::{operation}" for operation in OPERATIONS)
COLLECTOR_WS = tuple(f"collector::b{buffer}::{operation}" for buffer in range(4) for operation in OPERATIONS)

TMEM = "tmem(b32)"
OPERANDS = {
    "d": TMEM,
    "b": "u64",
    "meta": TMEM,
    "idesc": "int32",
    "lanes": "registers(cta_group)",
    "scale_a": TMEM,
    "scale_b": TMEM,
    "p": "pred or !",
    "scale": "imm in 0..15",
    "zeros": "u64",
}
# Operand A of tcgen05.mma: a matrix descriptor (shared memory), or a tensor memory address.
PLACES = (("a", "u64"), ("[a]", TMEM))

# tcgen05.mma kinds without scale factors: kinds, trailing operands, first PTX version, and targets.
UNSCALED = (
    (FLOATS, "", ptx(8, 6), TARGETS),
    (FLOATS[:2], ", scale", ptx(8, 6), ("sm_100a", "sm_100f")),
    (("kind::i8",), "", ptx(8, 6), ("sm_100a", "sm_110a")),
    (("kind::ti16",), "", ptx(9, 4), RUBIN),
)

# tcgen05.mma kinds with scale factors, and their block-size modifiers. Manual: "Valid combinations of
# scale_vectorsize with types and MMA-Kind".
SCALED: tuple[tuple[str, tuple[str, ...], tuple[int, int], tuple[str, ...]], ...] = (
    ("kind::mxf8f6f4", (), ptx(8, 6), TARGETS),
    ("kind::mxf8f6f4", ("scale_vec::1X",), ptx(8, 6), ALONE),
    ("kind::mxf8f6f4", ("block32",), ptx(8, 8), TARGETS),
    ("kind::mxf4", (), ptx(8, 6), TARGETS),
    ("kind::mxf4", ("scale_vec::2X",), ptx(8, 6), ALONE),
    ("kind::mxf4", ("block32",), ptx(8, 8), TARGETS),
    ("kind::mxf4nvf4", ("scale_vec::2X", "scale_vec::4X"), ptx(8, 7), ALONE),
    ("kind::mxf4nvf4", ("block16", "block32"), ptx(8, 8), TARGETS),
)
# Sparse MMAs of fp4 need an architecture-specific target, not a family-specific one.
SCALED_SPARSE = tuple(
    (kind, sizes, since, targets if kind == "kind::mxf8f6f4" else ALONE) for kind, sizes, since, targets in SCALED
)

Availability: TypeAlias = "tuple[tuple[int, int], tuple[str, ...]]"


def _product(
    line: str,
    manual: str,
    *,
    place: str,
    since: tuple[int, int],
    targets: tuple[str, ...],
    slots: Mapping[str, tuple[str, ...]],
    leading: int = 1,
) -> InstructionRow:
    return tcgen05(
        line,
        manual,
        access="x" + "r" * line.count(","),
        operands={**OPERANDS, "a": place},
        since=since,
        targets=targets,
        slots=slots,
        leading=leading,
        lengths={"cta_group": (4, 8)} if "cta_group" in slots else None,
    )


def _collectors(since: tuple[int, int], targets: tuple[str, ...]) -> tuple[tuple[str, Availability], ...]:
    """Return collector modifiers for operand A, or for A and B, each with PTX version and targets."""
    both = (max(since, ptx(9, 4)), ("sm_107a",) if targets == ALONE else RUBIN)
    return (("{.collector_a}", (since, targets)), ("{.collector_a}.collector_b", both))


def _unscaled(sparse: str) -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of MMAs without scale factors; .ashift requires operand A in tensor memory."""
    meta = ", [meta]" if sparse else ""
    return tuple(
        _product(
            f"mma{sparse}.cta_group.kind{shift}{collectors} [d], {a}, b{meta}, idesc{{, lanes}}, p{tail}",
            f"mma{sparse}",
            place=place,
            since=since,
            targets=targets,
            slots={
                "cta_group": GROUPS,
                "kind": kinds,
                "collector_a": COLLECTOR_SHIFTED if shift else COLLECTOR_A,
                **({"collector_b": COLLECTOR_B} if "collector_b" in collectors else {}),
            },
        )
        for kinds, tail, first, homes in UNSCALED
        for a, place in PLACES
        for shift in (("", ".ashift") if place == TMEM else ("",))
        for collectors, (since, targets) in _collectors(first, homes)
        if kinds != ("kind::i8",) or "collector_b" not in collectors
    )


def _scaled(sparse: str) -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of block-scaled MMAs, dense or sparse."""
    meta = ", [meta]" if sparse else ""
    return tuple(
        _product(
            f"mma{sparse}.cta_group.{kind}.block_scale{'.size' if sizes else ''}{collectors} "
            f"[d], {a}, b{meta}, idesc, [scale_a], [scale_b], p",
            f"mma{sparse}",
            place=place,
            since=since,
            targets=targets,
            slots={
                "cta_group": GROUPS,
                "collector_a": COLLECTOR_A,
                **({"size": sizes} if sizes else {}),
                **({"collector_b": COLLECTOR_B} if "collector_b" in collectors else {}),
            },
        )
        for kind, sizes, first, homes in (SCALED_SPARSE if sparse else SCALED)
        for a, place in PLACES
        for collectors, (since, targets) in _collectors(first, homes)
    )


def _decompressed() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of MMAs whose operand B is indices into a lookup table in tensor memory."""
    lines = (
        ("kind::f8f6f4.decompress::lut::b", "{, lanes}, p"),
        ("kind::mxf8f6f4.block_scale{.block32}.decompress::lut::b", ", [scale_a], [scale_b], p"),
    )
    return tuple(
        _product(
            f"mma.cta_group.{words}{{.collector_a}}{{.collector_b}} [d], {a}, b, [meta], idesc{tail}",
            "mma",
            place=place,
            since=ptx(9, 4),
            targets=RUBIN,
            slots={"cta_group": GROUPS, "collector_a": COLLECTOR_A, "collector_b": COLLECTOR_B},
        )
        for words, tail in lines
        for a, place in PLACES
    )


def _weight_stationary(sparse: str) -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of MMAs that keep operand B in one of four collector buffers (.ws)."""
    meta = ", [meta]" if sparse else ""
    return tuple(
        _product(
            f"mma.ws{sparse}.cta_group::1.kind{{.collector}} [d], {a}, b{meta}, idesc, p{{, zeros}}",
            f"mma.ws{sparse}",
            place=place,
            since=since,
            targets=targets,
            slots={"kind": kinds, "collector": COLLECTOR_WS},
            leading=2,
        )
        for kinds, tail, since, targets in UNSCALED
        if not tail
        for a, place in PLACES
    )


SUMMARIES = {
    "Tensor memory": {
        "tcgen05.mma": "Multiply matrices and accumulate in tensor memory, asynchronously, from one thread.",
        "tcgen05.mma.sp": "Multiply a sparse by a dense matrix, and accumulate in tensor memory, asynchronously.",
        "tcgen05.mma.ws": "Multiply with B in a collector buffer (weight stationary), and accumulate in tensor memory.",
        "tcgen05.mma.ws.sp": "Multiply a sparse matrix by a weight-stationary B, and accumulate in tensor memory.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_unscaled(""),
    *_unscaled(".sp"),
    *_scaled(""),
    *_scaled(".sp"),
    *_decompressed(),
    *_weight_stationary(""),
    *_weight_stationary(".sp"),
)
