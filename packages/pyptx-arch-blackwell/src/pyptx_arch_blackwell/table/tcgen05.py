"""Common parts of all tcgen05 rows of the instruction table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TARGETS = ("sm_100a", "sm_100f", "sm_110a", "sm_110f")
GROUPS = ("cta_group::1", "cta_group::2")


def tcgen05(
    line: str,
    manual: str,
    *,
    access: str,
    operands: Mapping[str, str],
    since: tuple[int, int] = ptx(8, 6),
    targets: Sequence[str] = TARGETS,
    lengths: Mapping[str, Sequence[int]] | None = None,
    leading: int = 1,
    instruction: str = "",
    slots: Mapping[str, Sequence[str]] | None = None,
    **more: Sequence[str],
) -> InstructionRow:
    """Return the instruction-table row of `tcgen05.LINE`, whose first `leading` modifiers have a fixed position."""
    return row(
        f"tcgen05.{line}",
        access=access,
        operands=operands,
        since=since,
        targets=targets,
        leading=leading,
        manual=f"tcgen05.{manual}",
        instruction=f"tcgen05.{instruction or manual}",
        lengths=lengths,
        slots={**(slots or {}), **more},
    )
