"""Bulk async-groups: commit_group and wait_group of bulk copies. Manual: "Async-group mechanism"."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import GroupKind

BULK: Final = GroupKind(
    name="bulk",
    operations="bulk copies from shared memory",
    unfinished="unfinished-copy",
    tells="lanes",
    reads=True,
    wait="cp.async.bulk.wait_group (.read for the source alone), then a barrier",
    # Severity note: threads of library kernels exit with unfinished bulk copies, and the manual does not state whether
    # shared memory outlives the CTA.
    severity="note",
)
