"""Finding rules of the simulator for Hopper's instructions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyptx_sim.extension import Rule, explained
from pyptx_sim.rules import RaceChecker

RULES: Final = explained(
    Path(__file__).with_name("pages"),
    Rule(
        name="unfinished-wgmma",
        summary="warp exits with outstanding wgmma groups",
        help="wgmma.commit_group and wgmma.wait_group 0 before exit",
        severity="warning",
    ),
    Rule(
        name="missing-wgmma-fence",
        summary="no wgmma.fence between a register access and the wgmma.mma_async that uses the register",
    ),
    Rule(
        name="wgmma-register-before-wait",
        summary="wgmma register accessed before wgmma.wait_group",
    ),
    Rule(
        name="setmaxnreg",
        summary="setmaxnreg with an undefined effect",
        severity="warning",
    ),
    Rule(
        name="wgmma-descriptor",
        summary="matrix descriptor invalid, or different from the layout in shared memory",
        help="build the descriptor and the TMA box from one SharedTile",
        checker=RaceChecker,
    ),
    Rule(
        name="mbarrier-wrong-cta",
        summary="copy signals an mbarrier in another CTA than its destination",
    ),
    Rule(
        name="tensor-map",
        summary="invalid tensor map, or its rank differs from the instruction's",
    ),
    Rule(
        name="missing-tensormap-fence",
        summary="modified tensor map used without a tensormap proxy fence",
        help="fence.proxy.tensormap::generic.release after the modification, synchronize, ….acquire before the copy",
        checker=RaceChecker,
    ),
)
