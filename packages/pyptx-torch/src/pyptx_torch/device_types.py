"""Device types on which plans are launched, and torch's functions for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_torch.internals import is_capturing

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class DeviceType:
    """A device type of torch: its number in DLPack, and torch's functions for such devices.

    `built`: whether this torch supports the device type; `stream`: the handle of the current stream; `ordinal`: the
    current device; `capturing`: whether the current stream captures a graph; `wait`: synchronize with a device.
    `visible`: whether torch sees such a device; if the driver is too old for this build, the other functions raise.
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
        """Return a torch device with an ordinal, by default the ordinal of the current device."""
        index = cast("int | None", device.index)  # torch's stub declares torch.device.index as int, but it may be None
        return torch.device(self.type, self.ordinal() if index is None else index)


def _stream(device: torch.device) -> int:
    return int(torch.cuda.current_stream(device).cuda_stream)


# DLPack's number of CUDA devices is 2, kDLCUDA.
CUDA: Final = DeviceType(
    "cuda",
    2,
    built=torch.backends.cuda.is_built,
    stream=_stream,
    ordinal=torch.cuda.current_device,
    capturing=is_capturing,
    wait=torch.cuda.synchronize,
    visible=torch.cuda.is_available,
)
