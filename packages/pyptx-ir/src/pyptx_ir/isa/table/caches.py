"""Manual: "Data Movement and Conversion Instructions: prefetch, prefetchu, applypriority, discard, createpolicy"."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx, row, summarised

LINE = "imm in 128"  # operand `size` of applypriority and discard: bytes of a cache line, the only valid size
PRIMARY = ("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
SECONDARY = ("L2::evict_first", "L2::evict_unchanged")
POLICY = {"policy": "u64", "primary_size": "int32", "total_size": "int32"}

SUMMARIES = {
    "Data movement": {
        "prefetch": "Prefetch a cache line or a tensor map.",
        "prefetchu": "Prefetch the cache line of a generic address into the uniform cache.",
        "applypriority": "Change the eviction priority of a range of cache lines.",
        "discard": "Discard the contents of a range of cache lines, without writing them back.",
        "createpolicy": "Create a cache policy for loads and stores.",
    },
}

ROWS = summarised(
    SUMMARIES,
    row(
        "prefetch{.space}.level [a]",
        space=("global", "local"),
        level=("L1", "L2"),
        operands={"a": "memory(sized)"},
        since=ptx(2, 0),
        manual="prefetch",
    ),
    row(
        "prefetch{.global}.L1::32B.valid_addr [a]",
        operands={"a": "address(global sized)"},
        since=ptx(9, 4),
        targets=("sm_90",),
        manual="prefetch",
    ),
    row(
        "prefetch.global.level [a]",
        level=("L2::evict_last", "L2::evict_normal"),
        operands={"a": "address(global sized)"},
        since=ptx(7, 4),
        targets=("sm_80",),
        manual="prefetch",
    ),
    row(
        "prefetch{.space}.tensormap [a]",
        space=("const", "param"),
        operands={"a": "memory"},
        since=ptx(8, 0),
        targets=("sm_90",),
        manual="prefetch",
    ),
    row(
        "prefetchu.L1 [a]",
        operands={"a": "address(global sized)"},
        since=ptx(2, 0),
        manual="prefetch",
        instruction="prefetchu",
    ),
    row(
        "applypriority{.global}.L2::evict_normal [a], size",
        operands={"a": "address(global sized)", "size": LINE},
        since=ptx(7, 4),
        targets=("sm_80",),
        manual="applypriority",
    ),
    row(
        "discard{.global}.L2 [a], size",
        operands={"a": "address(global sized)", "size": LINE},
        access="wr",
        since=ptx(7, 4),
        targets=("sm_80",),
        manual="discard",
    ),
    row(
        "createpolicy.range{.global}.primary{.secondary}.b64 policy, [a], primary_size, total_size",
        primary=PRIMARY,
        secondary=SECONDARY,
        operands={**POLICY, "a": "address(global)"},
        leading=True,
        since=ptx(7, 4),
        targets=("sm_80",),
        manual="createpolicy",
    ),
    row(
        "createpolicy.fractional.primary{.secondary}.b64 policy{, fraction}",
        primary=PRIMARY,
        secondary=SECONDARY,
        operands={"policy": "u64", "fraction": "f32"},
        leading=True,
        since=ptx(7, 4),
        targets=("sm_80",),
        manual="createpolicy",
    ),
    row(
        "createpolicy.cvt.L2.b64 policy, property",
        operands={"policy": "u64", "property": "u64"},
        leading=True,
        since=ptx(7, 4),
        targets=("sm_80",),
        manual="createpolicy",
    ),
)
