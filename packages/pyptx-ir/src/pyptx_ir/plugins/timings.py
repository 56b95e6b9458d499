"""Times of a kernel on a GPU, which a runtime measures for `pyptx bench`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class Timings(Value):
    """Seconds of device time of each timed launch, in order, with the arrays and the device.

    `bytes` is the size of the input and output arrays, each counted once. Before each launch `flushed` bytes are
    written to other device memory, so that the L2 cache contains no input. `versions` are those of the driver and the
    packages that took part, by name.
    """

    seconds: tuple[float, ...]
    bytes: int
    flushed: int
    device: str
    target: str
    versions: Mapping[str, str]
