"""Rules of the simulator for Hopper's instructions."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import Rule

RULES: Final = (
    Rule(
        name="unfinished-product",
        summary="a warp ends before it has waited for its products",
        hint="wait for it before the thread ends: its memory may be another block's by the time it completes",
        severity="warning",
    ),
    Rule(
        name="missing-wgmma-fence",
        summary="registers that a product uses were touched before, and no wgmma.fence stands between",
    ),
    Rule(
        name="register-before-wait",
        summary="wgmma register accessed before wgmma.wait_group",
    ),
    Rule(
        name="setmaxnreg",
        summary="setmaxnreg where the manual leaves open what happens",
        severity="warning",
    ),
    Rule(
        name="matrix-descriptor",
        summary="a descriptor that describes no matrix, or another one than what lies there",
        hint="describe the tile once (SharedTile), and take TMA's layout and the descriptor from that",
        observer="races",
    ),
    Rule(
        name="mbarrier-block",
        summary="a copy whose mbarrier lies in another block than what it writes",
    ),
    Rule(
        name="tensor-map",
        summary="a tensor copy whose map is none, or one of another rank",
    ),
    Rule(
        name="missing-tensormap-fence",
        summary="a tensor map that was edited is used, and no fence of its proxy stands between",
        hint="behind the write fence.proxy.tensormap::generic.release (or tensormap.cp_fenceproxy), an order "
        "between the threads, and before the copy fence.proxy.tensormap::generic.acquire of the map's 128 "
        "bytes",
        observer="races",
    ),
)
