"""Dimensions of shared memory. CUDA programming guide: "Shared Memory" of compute capability 5.x."""

from __future__ import annotations

from typing import Final

BANKS: Final = 32
"""Number of banks of shared memory."""

WORD: Final = 4
"""Bytes of a bank's word."""
