"""Semantics: rows that bind each instruction to an array function, one file per chapter of the manual.

The functions are pure and independent of warps, memory and masks. They require one `np.errstate(all="ignore")` around
the whole run, because infinities and NaNs are ordinary values here.
"""

from __future__ import annotations

from pyptx_sim.semantics.chapters import ROWS
from pyptx_sim.semantics.errors import NoSemantics

__all__ = ["ROWS", "NoSemantics"]
