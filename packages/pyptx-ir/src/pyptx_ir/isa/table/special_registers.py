"""Special registers: type, first PTX version and first target of each. Manual: chapter "Special Registers".

Versions and targets are those of ptxas 13.5, which a test verifies for every row. Where the manual gives fewer versions
(`%envreg` from 2.1 on), the row follows ptxas. Rows without a target apply to every device in the target table.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_ir.isa.rows import ptx


@dataclass(frozen=True, slots=True)
class SpecialRegisterRow:
    """One special register, or a component of one: `%tid.x`."""

    name: str
    type: str
    since: tuple[int, int] = (1, 0)
    target: str = ""


def _rows(
    names: str, type_name: str = "u32", since: tuple[int, int] = (1, 0), target: str = ""
) -> tuple[SpecialRegisterRow, ...]:
    return tuple(SpecialRegisterRow(f"%{name}", type_name, since, target) for name in names.split())


def _components(names: str) -> str:
    return " ".join(f"{name}.{part}" for name in names.split() for part in "xyzw")


def _numbered(pattern: str, numbers: range) -> str:
    return " ".join(pattern.format(number) for number in numbers)


ROWS: tuple[SpecialRegisterRow, ...] = (
    *_rows(_components("tid ntid ctaid nctaid")),
    *_rows("laneid warpid smid", since=ptx(1, 3)),
    *_rows("nwarpid nsmid", since=ptx(2, 0)),
    *_rows("gridid", "u64"),
    *_rows("is_explicit_cluster", "pred", ptx(7, 8), "sm_90"),
    *_rows(_components("clusterid nclusterid cluster_ctaid cluster_nctaid"), since=ptx(7, 8), target="sm_90"),
    *_rows("cluster_ctarank cluster_nctarank", since=ptx(7, 8), target="sm_90"),
    *_rows("lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt", since=ptx(2, 0)),
    *_rows("clock"),
    *_rows("clock_hi", since=ptx(5, 0)),
    *_rows("clock64", "u64", ptx(2, 0)),
    *_rows(_numbered("pm{}", range(4)), since=ptx(1, 3)),
    *_rows(_numbered("pm{}", range(4, 8)), since=ptx(3, 0)),
    *_rows(_numbered("pm{}_64", range(8)), "u64", ptx(4, 0)),
    *_rows(_numbered("envreg{}", range(32)), "b32"),
    *_rows("globaltimer", "u64", ptx(3, 1)),
    *_rows("globaltimer_lo globaltimer_hi", since=ptx(3, 1)),
    *_rows(
        "reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap reserved_smem_offset_0 "
        "reserved_smem_offset_1",
        since=ptx(7, 6),
        target="sm_80",
    ),
    *_rows("total_smem_size dynamic_smem_size", since=ptx(4, 1)),
    *_rows("aggr_smem_size", since=ptx(8, 1), target="sm_90"),
    *_rows("current_graph_exec", "u64", ptx(8, 0)),
)
