"""mov, shfl, prmt, cvta and their kin."""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"^isspacep\S* %pred_\d, -?1": ("ptxas takes a number for an address"),
    r"^mov\.(v[24]|b128|b64|b32|b16)\.?\S* ": ("ptxas copies one value to all elements, and takes any symbol for b128"),
}

LAXER: dict[str, str] = {}
