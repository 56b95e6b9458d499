"""Modifiers that bring a demand of their own, whatever the instruction."""

from __future__ import annotations

from pyptx_ir.isa.rows import ptx

# PTX version and target. Manual: the notes at the end of ld, st, atom, red, fence, cvta and isspacep.
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
}
