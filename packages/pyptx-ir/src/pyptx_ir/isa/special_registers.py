"""Special registers and their types. Manual: chapter "Special Registers"."""

from __future__ import annotations

import functools

_U32 = (
    "laneid warpid nwarpid smid nsmid cluster_ctarank cluster_nctarank lanemask_eq lanemask_le "
    "lanemask_lt lanemask_ge lanemask_gt clock clock_hi globaltimer_lo globaltimer_hi total_smem_size aggr_smem_size "
    "dynamic_smem_size reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap "
    "reserved_smem_offset_0 reserved_smem_offset_1"
)
_U64 = "gridid clock64 globaltimer current_graph_exec"
_VECTORS = "tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid cluster_nctaid"


@functools.cache
def special_registers() -> dict[str, str]:
    """Return the type of every special register, components of the vectors included."""
    found = {f"%{name}": "u32" for name in _U32.split()}
    found |= {f"%{name}": "u64" for name in _U64.split()}
    found |= {f"%{name}.{part}": "u32" for name in _VECTORS.split() for part in "xyzw"}
    found |= {f"%pm{i}": "u32" for i in range(8)} | {f"%pm{i}_64": "u64" for i in range(8)}
    found["%is_explicit_cluster"] = "pred"
    # Their type is .b32 in the manual.
    found |= {f"%envreg{i}": "b32" for i in range(32)}
    return found
