"""Instruction table: tcgen05 instructions that allocate, load, store, copy and shift tensor memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.table.tcgen05 import GROUPS, TARGETS, tcgen05
from pyptx_ir.isa.rows import InstructionRow, ptx, summarised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REDUCING = ("sm_103a", "sm_103f", "sm_110a", "sm_110f")

# Repetitions of a shape, and registers per repetition. Manual: "Various combinations of .num and .shape" of tcgen05.ld.
# Shape 16x32bx2 accesses two column ranges, an immediate offset apart.
REPEATS = tuple(f"x{1 << power}" for power in range(8))
SHAPES = (("16x64b", 1), ("32x32b", 1), ("16x128b", 2), ("16x256b", 4), ("16x32bx2", 1))
SPLIT = "16x32bx2"

# Types and modifiers of tcgen05.ld.red: f32, optionally of absolute values (.abs), and integer types.
REDUCTIONS: tuple[tuple[str, Mapping[str, Sequence[str]]], ...] = (
    ("{.abs}{.NaN}.f32", {}),
    (".type", {"type": ("u32", "s32")}),
)

# Multicast modifiers of tcgen05.cp, by shape. Manual: tcgen05.cp.
COPIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("128x256b", "4x256b", "128x128b"), ()),
    (("64x128b",), ("warpx2::02_13", "warpx2::01_23")),
    (("32x128b",), ("warpx4",)),
)

# Valid column counts of tcgen05.alloc: .exclusive allows any multiple of 32, and sm_107 has more columns.
COLUMNS = "int32 in 32 64 128 256 512"
EXCLUSIVE = (("columns576", "int32 in 32..576 by 32", ("sm_107f",)), ("columns512", "int32 in 32..512 by 32", TARGETS))

# CTA masks of tcgen05.commit, which select the mbarriers to signal: modifier, operand kind, PTX version and targets.
MULTICASTS = (
    ("", "", ptx(8, 6), TARGETS),
    (".multicast::cluster", "u16 in 0..65535", ptx(8, 6), TARGETS),
    (".multicast::cluster::16b", "u16 in 0..65535", ptx(9, 4), TARGETS),
    (".multicast::cluster::32b", "int32 in 0..4294967295", ptx(9, 4), ("sm_107f",)),
)


def _repeats(per_repeat: int, *, least: int = 1) -> dict[str, int]:
    """Return the repetitions of tcgen05.ld and st (x1, x2, …), each with its number of registers, at most 128."""
    counts = {name: int(name[1:]) * per_repeat for name in REPEATS if int(name[1:]) >= least}
    return {name: count for name, count in counts.items() if count <= 128}


def _loads_and_stores() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of tcgen05.ld and st; shape and repetitions determine the vector's length."""
    found: list[InstructionRow] = []
    for shape, per_repeat in SHAPES:
        counts = _repeats(per_repeat)
        offset, more = (", offset", {"offset": "imm"}) if shape == SPLIT else ("", {})
        operands = {"r": "registers(num)", "taddr": "tmem", **more}
        lines = (
            (f"ld.sync.aligned.shape.num{{.pack::16b}}.b32 r, [taddr]{offset}", "ld", "wrr"),
            (f"st.sync.aligned.shape.num{{.unpack::16b}}.b32 [taddr]{offset}, r", "st", "wrr"),
        )
        found += [
            tcgen05(
                line,
                manual,
                access=access if more else access[:2],
                operands=operands,
                shape=(shape,),
                num=tuple(counts),
                lengths={"num": tuple(counts.values())},
            )
            for line, manual, access in lines
        ]
    return tuple(found)


def _reductions() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of tcgen05.ld.red, which also reduces the columns of each lane."""
    counts = _repeats(1, least=2)
    return tuple(
        tcgen05(
            f"ld.red.sync.aligned.shape.num.op{words} r, redval, [taddr]{', offset' if shape == SPLIT else ''}",
            "ld",
            access="wwrr" if shape == SPLIT else "wwr",
            operands={"r": "registers(num)", "redval": "b32", "taddr": "tmem", "offset": "imm"},
            since=ptx(8, 8),
            targets=REDUCING,
            leading=2,
            instruction="ld.red",
            shape=(shape,),
            num=tuple(counts),
            lengths={"num": tuple(counts.values())},
            op=("min", "max"),
            slots=more,
        )
        for shape in ("32x32b", SPLIT)
        for words, more in REDUCTIONS
    )


def _compressions() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of tcgen05.ld.spcompress.

    The instruction keeps two of four values, with two bits of metadata per kept value.
    """
    counts = _repeats(1, least=4)
    # A 32-bit metadata register describes 32 loaded values, so mdata has one register for each 32 values.
    by_metadata = [(size, [name for name in counts if -(-counts[name] // 32) == size]) for size in (1, 2, 4)]
    lines = (
        ("ld.spcompress", "{.abs}", "mdata, cdata, [taddr]", "wwr"),
        ("ld.red.spcompress", "{.abs}{.NaN}", "mdata, cdata, redval, [taddr]", "wwwr"),
    )
    return tuple(
        tcgen05(
            f"{name}.sync.aligned.32x32b.num.op.sp::2:4{flags}.f32.b2 {places}",
            "ld",
            access=access,
            operands={"mdata": f"registers({size})", "cdata": "registers(num)", "redval": "b32", "taddr": "tmem"},
            since=ptx(9, 4),
            targets=("sm_107a",),
            leading=name.count(".") + 1,
            instruction=name.removesuffix(".spcompress"),
            num=names,
            lengths={"num": [counts[repeat] // 2 for repeat in names]},
            op=("min", "max"),
        )
        for name, flags, places, access in lines
        for size, names in by_metadata
    )


def _allocations() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of tcgen05.alloc and dealloc, without and with .exclusive."""
    lines = (
        ("alloc", "{}.cta_group.sync.aligned{{.shared::cta}}.b32 [dst], {}", {"dst": "address(shared)"}, "wr"),
        ("dealloc", "{}.cta_group.sync.aligned.b32 taddr, {}", {"taddr": "int32"}, "rr"),
    )
    shared = [
        tcgen05(
            f"{name}{line.format('', 'columns')}",
            "alloc",
            instruction=name,
            access=access,
            operands={**operands, "columns": COLUMNS},
            cta_group=GROUPS,
        )
        for name, line, operands, access in lines
    ]
    exclusive = [
        tcgen05(
            f"{name}{line.format('.exclusive', size)}",
            "alloc",
            instruction=name,
            access=access,
            operands={**operands, size: columns},
            since=ptx(9, 4),
            targets=targets,
            cta_group=GROUPS,
        )
        for name, line, operands, access in lines
        for size, columns, targets in EXCLUSIVE
    ]
    return (*shared, *exclusive)


def _copies() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of tcgen05.cp, which may unpack elements of 4 or 6 bits to bytes."""
    return tuple(
        tcgen05(
            f"cp.cta_group.shape{'.multicast' if multicasts else ''}{{.b8x16.format}} [taddr], descriptor",
            "cp",
            access="wr",
            operands={"taddr": "tmem", "descriptor": "u64"},
            cta_group=GROUPS,
            shape=shapes,
            format=("b6x16_p32", "b4x16_p64"),
            slots={"multicast": multicasts} if multicasts else {},
        )
        for shapes, multicasts in COPIES
    )


def _commits() -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of tcgen05.commit, which tracks operations of its thread or only A reads."""
    read = ".sync_restrict::shared::read::mma::a"
    return tuple(
        tcgen05(
            f"commit.cta_group.mbarrier::arrive::one{until}{{.shared::cluster}}{word}.b64 {places}",
            "commit",
            access="rr" if mask else "r",
            operands={"mbar": "address(shared)", "mask": mask},
            since=max(since, ptx(9, 4)) if until else since,
            targets=("sm_107f",) if until else targets,
            cta_group=GROUPS,
        )
        for until in ("", read)
        for word, mask, since, targets in MULTICASTS
        for places in ("[mbar], mask" if mask else "[mbar]",)
    )


SUMMARIES = {
    "Tensor memory": {
        "tcgen05.alloc": "Allocate columns of tensor memory, and write their address to shared memory.",
        "tcgen05.dealloc": "Free columns of tensor memory.",
        "tcgen05.relinquish_alloc_permit": "Give up the CTA's right to allocate more tensor memory.",
        "tcgen05.ld": "Load from tensor memory into the registers of a warp, asynchronously.",
        "tcgen05.ld.red": "Load from tensor memory, and return the minimum or maximum of the loaded values.",
        "tcgen05.st": "Store registers of a warp to tensor memory, asynchronously.",
        "tcgen05.wait": "Wait for the thread's loads from, or stores to, tensor memory.",
        "tcgen05.cp": "Copy from shared memory to tensor memory, asynchronously.",
        "tcgen05.shift": "Move the rows of a matrix in tensor memory down by one.",
        "tcgen05.fence": "Order tcgen05 operations with an earlier or later synchronization of threads.",
        "tcgen05.commit": "Signal an mbarrier when the thread's earlier tcgen05 operations are complete.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_allocations(),
    tcgen05(
        "relinquish_alloc_permit.cta_group.sync.aligned",
        "relinquish_alloc_permit",
        access="",
        operands={},
        cta_group=GROUPS,
    ),
    *_loads_and_stores(),
    *_reductions(),
    *_compressions(),
    tcgen05("operation.sync.aligned", "wait", access="", operands={}, operation=("wait::ld", "wait::st")),
    *_copies(),
    tcgen05(
        "shift.cta_group.down [taddr]",
        "shift",
        access="x",
        operands={"taddr": "tmem"},
        targets=("sm_100a", "sm_103a", "sm_107a", "sm_110a"),
        cta_group=GROUPS,
    ),
    tcgen05("order", "fence", access="", operands={}, order=("fence::before_thread_sync", "fence::after_thread_sync")),
    *_commits(),
)
