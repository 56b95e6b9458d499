"""Manual: "Asynchronous copy: Tensor copy", and applypriority.async.bulk.tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_arch_hopper.table.bulk_copy import HOPPER, RUBIN, SLOTS
from pyptx_ir.isa.rows import ptx, row, summarised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from pyptx_ir.isa.rows import InstructionRow

    Slots: TypeAlias = Mapping[str, tuple[str, ...]]

DATACENTER = ("sm_100f", "sm_110f")
DIMENSIONS = ("1d", "2d", "3d", "4d", "5d")
OPERANDS = {
    "dst": "address(shared)",
    "src": "address(shared)",
    "mbar": "address(shared)",
    "cta_mask": "u16 with multicast",
    "cta_mask_32": "int32 with multicast::cluster::32b",
    "cache_policy": "u64 with L2::cache_hint",
}
GROUP = {"group": ("cta_group::1", "cta_group::2")}
NONE: Slots = {}
REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


@dataclass(frozen=True, slots=True)
class Mode:
    """Traversal mode of a tensor copy: its modifier, valid ranks, and last operand.

    `coordinates` is the number of coordinates if it differs from the rank. `since` and `targets` apply to copies with a
    tensor map.
    """

    words: str
    ranks: tuple[str, ...] = DIMENSIONS
    coordinates: int | None = None
    info: str = ""
    since: tuple[int, int] = ptx(8, 0)
    targets: tuple[str, ...] = HOPPER

    def at(self, since: tuple[int, int], targets: tuple[str, ...]) -> Mode:
        """Return a copy of this mode with another first PTX version and other targets."""
        return Mode(self.words, self.ranks, self.coordinates, self.info, since, targets)


TILE = Mode("{.tile}")
GATHER = Mode(".tile::gather4", ("2d",), 5, since=ptx(8, 6), targets=DATACENTER)
SCATTER = Mode(".tile::scatter4", ("2d",), 5, since=ptx(8, 6), targets=DATACENTER)
IM2COL = Mode(".im2col", DIMENSIONS[2:], info="offsets(dim)")
IM2COL_W = Mode(".im2col::w", DIMENSIONS[2:], info="2*u16", since=ptx(8, 6), targets=DATACENTER)
IM2COL_W_128 = Mode(".im2col::w::128", DIMENSIONS[2:], info="2*u16", since=ptx(8, 6), targets=DATACENTER)
NO_OFFSETS = Mode(".im2col_no_offs", DIMENSIONS[2:])
NO_OFFSETS_W = Mode(".im2col_no_offs::w", DIMENSIONS[2:], since=ptx(9, 4), targets=RUBIN)
LOADS = (TILE, GATHER, IM2COL, IM2COL_W, IM2COL_W_128)
# TMA loads to .shared::cta: some modes exist on more targets than loads to .shared::cluster.
LOADS_NEAR = (
    TILE.at(ptx(8, 6), HOPPER),
    GATHER.at(ptx(8, 6), ("sm_100",)),
    IM2COL.at(ptx(8, 6), HOPPER),
    IM2COL_W.at(ptx(8, 6), ("sm_100",)),
    IM2COL_W_128,
)
STORES = (TILE, SCATTER, NO_OFFSETS, NO_OFFSETS_W)
# Only tiled mode can override sizes and strides of the tensor map, together with the base address.
RESIZED = (
    (TILE.at(ptx(9, 4), RUBIN), DIMENSIONS[:1], ".override::global_address.override::global_dim"),
    (TILE.at(ptx(9, 4), RUBIN), DIMENSIONS[1:], ".override::global_address.override::global_dim_stride"),
)


def _form(
    name: str, words: str, operands: str, mode: Mode, ranks: tuple[str, ...], override: str, slots: Slots
) -> InstructionRow:
    """Return the instruction-table row of a copy mode.

    The modifier of the mode replaces `MODE` in `words`, and the operand of the mode replaces `INFO` in `operands`.
    """
    line = f"{name}.dim{words.replace('MODE', mode.words)}{override}"
    info = {"info": mode.info} if mode.info else {}
    tail = operands.replace(", INFO", ", info" if info else "")
    named = {name: values for name, values in SLOTS.items() if f".{name}}}" in line}
    return row(
        f"{line} {tail}",
        operands={**OPERANDS, **info, "box": f"box({mode.coordinates or 'dim'})"},
        access="r" * (tail.count(",") + 1) if "[dst]" not in tail else "w".ljust(tail.count(",") + 1, "r"),
        since=mode.since,
        targets=mode.targets,
        leading=name.count("."),
        manual=name,
        lengths={"dim": tuple(int(rank[0]) for rank in ranks)},
        slots={"dim": ranks, **named, **slots},
    )


def _forms(
    name: str, words: str, operands: str, modes: tuple[Mode, ...], slots: Slots = NONE
) -> tuple[InstructionRow, ...]:
    """Return the instruction-table rows of copy modes; for tile mode, also the rows with overridden tensor sizes."""
    plain = ((mode, mode.ranks, "{.override::global_address}") for mode in modes)
    # Copies that override the sizes in the tensor map have 32-bit multicast masks.
    resized = RESIZED if any(mode.words == TILE.words for mode in modes) and "{.multicast}" not in words else ()
    return tuple(
        _form(name, words, operands, mode, ranks, override, slots) for mode, ranks, override in (*plain, *resized)
    )


COPY = "cp.async.bulk.tensor"
SUMMARIES = {
    "Data movement": {
        "applypriority.async.bulk.tensor": "Change the eviction priority of a box of a tensor, asynchronously.",
    },
    "Asynchronous copies": {
        "cp.async.bulk.tensor": "Copy a box of a tensor, described by a tensor map, between global and shared memory.",
        "cp.reduce.async.bulk.tensor": "Reduce a box in shared memory into a tensor in global memory, element-wise.",
        "cp.async.bulk.prefetch.tensor": "Prefetch a box of a tensor into the L2 cache.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_forms(
        COPY,
        ".shared::cta.globalMODE.mbarrier::complete_tx::bytes{.report}{.group}{.hint}",
        "[dst], [box], [mbar], INFO{, cache_policy}",
        LOADS_NEAR,
        GROUP,
    ),
    *_forms(
        COPY,
        ".shared::cluster.globalMODE.mbarrier::complete_tx::bytes{.report}{.multicast}{.group}{.hint}",
        "[dst], [box], [mbar], INFO{, cta_mask}{, cache_policy}",
        LOADS,
        GROUP,
    ),
    *_forms(
        COPY,
        ".shared::cluster.globalMODE.mbarrier::complete_tx::bytes{.report}.multicast::cluster::32b{.group}{.hint}",
        "[dst], [box], [mbar], INFO{, cta_mask_32}{, cache_policy}",
        tuple(mode.at(ptx(9, 4), RUBIN) for mode in LOADS),
        GROUP,
    ),
    *(
        _form(
            COPY,
            ".shared::cluster.globalMODE.mbarrier::complete_tx::bytes{.report}{.group}{.hint}",
            "[dst], [box], [mbar]{, cache_policy}",
            mode,
            ranks,
            override,
            GROUP,
        )
        for mode, ranks, override in RESIZED
    ),
    *_forms(COPY, ".global.shared::ctaMODE.bulk_group{.hint}", "[box], [src]{, cache_policy}", STORES),
    *_forms(
        "cp.reduce.async.bulk.tensor",
        ".global.shared::cta.opMODE.bulk_group{.hint}",
        "[box], [src]{, cache_policy}",
        (TILE, NO_OFFSETS, NO_OFFSETS_W),
        {"op": REDUCTIONS},
    ),
    *_forms("cp.async.bulk.prefetch.tensor", ".L2.globalMODE{.hint}", "[box], INFO{, cache_policy}", LOADS),
    *_forms(
        "cp.async.bulk.prefetch.tensor",
        ".L2.globalMODE.L2::evict_last",
        "[box], INFO",
        tuple(mode.at(ptx(9, 4), RUBIN) for mode in LOADS),
    ),
    *_forms(
        "applypriority.async.bulk.tensor",
        "{.global}MODE.bulk_group.L2::evict_normal",
        "[box], INFO",
        tuple(mode.at(ptx(9, 4), RUBIN) for mode in LOADS),
    ),
)
