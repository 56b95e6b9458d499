"""Memory layout of a slice: the address of an array, and its length in bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from acme_arch.descriptors import SLICE, Slice
from pyptx_sim.extension import Descriptor

if TYPE_CHECKING:
    from typing import Final


def _encode(described: Slice, address: int) -> bytes:
    return struct.pack("<QQ", address, described.length)


DESCRIPTORS: Final = (
    Descriptor(
        name="slice",
        described=Slice,
        encode=_encode,
        alignment=SLICE.alignment,
        offered=Slice,
        example="Slice(skipped=4)",
    ),
)
