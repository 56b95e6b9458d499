"""Semantics of instructions: `Semantics` rows that bind each opcode to an array function, one file per manual chapter.

The functions are pure and independent of warps, memory and masks. Callers run them inside one
`np.errstate(all="ignore")`, because infinities and NaNs are ordinary values here.
"""

from __future__ import annotations

from pyptx_sim.semantics.chapters import ROWS
from pyptx_sim.semantics.errors import NoSemantics

__all__ = ["ROWS", "NoSemantics"]
