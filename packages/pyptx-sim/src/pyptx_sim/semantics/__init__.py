"""What each instruction computes: rows that bind it to an array function, one file per chapter of the manual.

The functions are pure, and know nothing of warps, memory or masks. They expect one `np.errstate(all="ignore")` around
the whole run, because infinities and NaNs are ordinary values here.
"""

from __future__ import annotations

from pyptx_sim.semantics.chapters import ROWS
from pyptx_sim.semantics.errors import NoSemantics

__all__ = ["ROWS", "NoSemantics"]
