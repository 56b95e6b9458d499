"""The groups of bulk copies. Manual: "Async-group mechanism"."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import GroupKind

BULK: Final = GroupKind(
    name="bulk",
    operations="bulk copies that read its block's shared memory",
    unfinished="unfinished-copy",
    tells="lanes",
    reads=True,
    wait="cp.async.bulk.wait_group (with .read for what it reads), and then a barrier",
    severity="note",  # libraries end their kernels so; the manual does not say that a block's memory stays until then
)
