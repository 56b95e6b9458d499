"""Check that each kernel uses one `.cta_group` value of tcgen05. Measured on ptxas 13.5; manual: "CTA Pair"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction

_PREFIX = "cta_group::"


def note(walk: Walk, node: Instruction) -> None:
    """Record the first instruction with each `.cta_group` value in the function."""
    group = next((word for word in node.opcode if word.startswith(_PREFIX)), None)
    if group is not None and walk.routine is not None:
        walk.routine.groups.setdefault(group, walk.at)


def one_granularity(walk: Walk) -> None:
    """Reject entries that use both `.cta_group` values, directly or through callees."""
    if len(set[str]().union(*(routine.groups for routine in walk.routines))) < 2:
        return  # all instructions of the module that have a .cta_group agree on its value
    reported: set[int] = set()
    for entry in walk.entries():
        first: dict[str, int] = {}
        for routine in walk.called_by(entry):
            for group, at in routine.groups.items():
                first[group] = min(at, first.get(group, at))
        for group, at in sorted(first.items(), key=lambda found: found[1])[1:]:
            if at in reported:
                continue
            reported.add(at)
            message = f"'{entry.node.name}' uses different .cta_group values: the other value is at line {{line}}"
            help = "use .cta_group::1 (single CTAs) or .cta_group::2 (CTA pairs) in the whole kernel"
            walk.report(Finding("cta-group", message, help, word=f".{group}", at=at, other=min(first.values())))
