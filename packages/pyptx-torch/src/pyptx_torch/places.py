"""Where plans are launched: what torch knows of a type of device, in one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_torch.internals import is_capturing

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Place:
    """A type of device: its number in DLPack, and what to ask torch about one of them.

    `built` tells whether this torch knows such devices; `stream` returns the handle of the current stream, `ordinal`
    which device is current; `capturing` tells whether the current stream records a graph; `wait` waits for all work of
    a device. `visible` tells whether torch sees any of them: where the driver is too old for this build, the other
    questions raise.
    """

    type: str
    dlpack: int
    built: Callable[[], bool]
    stream: Callable[[torch.device], int]
    ordinal: Callable[[], int]
    capturing: Callable[[], bool]
    wait: Callable[[torch.device], None]
    visible: Callable[[], bool] = lambda: True

    def device(self, device: torch.device) -> torch.device:
        """Return the device with its ordinal: that of the current one where none is given."""
        index = cast("int | None", device.index)  # torch's stub says that it is always there
        return torch.device(self.type, self.ordinal() if index is None else index)


def _stream(device: torch.device) -> int:
    return int(torch.cuda.current_stream(device).cuda_stream)


# DLPack calls CUDA device type 2, kDLCUDA.
CUDA: Final = Place(
    "cuda",
    2,
    built=torch.backends.cuda.is_built,
    stream=_stream,
    ordinal=torch.cuda.current_device,
    capturing=is_capturing,
    wait=torch.cuda.synchronize,
    visible=torch.cuda.is_available,
)
