"""Modifiers with a PTX version and targets of their own, for any instruction."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx

# PTX version and target of each modifier. Manual: the notes at the end of ld, st, atom, red, fence, cvta,
# isspacep, cp.async.bulk and cp.async.bulk.tensor.
WORDS: dict[str, tuple[tuple[int, int], str]] = {
    "cluster": (ptx(7, 8), "sm_90"),
    "shared::cluster": (ptx(7, 8), "sm_90"),
    "shared::cta": (ptx(7, 8), ""),
    "param::entry": (ptx(8, 3), ""),
    "param::func": (ptx(8, 3), ""),
    "L2::cache_hint": (ptx(7, 4), "sm_80"),
    "L2::64B": (ptx(7, 4), "sm_75"),
    "L2::128B": (ptx(7, 4), "sm_75"),
    "L2::256B": (ptx(7, 4), "sm_80"),
    "cp_mask": (ptx(8, 6), "sm_100"),
    "cta_group::1": (ptx(8, 6), "sm_100f sm_110f"),
    "cta_group::2": (ptx(8, 6), "sm_100f sm_110f"),
    "multicast::cluster::16b": (ptx(9, 4), ""),
    "multicast::cluster::32b": (ptx(9, 4), "sm_107f"),
    "override::global_address": (ptx(9, 4), "sm_107f"),
    **{
        f"mbarrier::report::{what}": (ptx(9, 4), "sm_107f")
        for what in (
            "disabled",
            *(f"validity::per_16bytes::{pattern}" for pattern in ("80000000", "8000", "80", "8")),
            "validity::per_element::ff",
        )
    },
}
