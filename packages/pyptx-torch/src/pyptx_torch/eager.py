"""Fast path of eager calls: `Kernel.__call__` calls pyptx_launch's launcher directly.

The launcher forwards calls without a plan to the slow path, which checks the call and adds a plan. The fast path
bypasses torch's dispatcher, so it must reject calls that the dispatcher would treat specially: see `GUARDS` and
`TENSOR_GUARDS` in `internals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from pyptx_dsl.kernels import runtimes
from pyptx_launch import driver
from pyptx_torch.device_types import CUDA
from pyptx_torch.operators import operator_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable
    from pyptx_torch.device_types import DeviceType


def launcher_of(
    kernel: Launchable[Declaration], miss: Callable[..., object], place: DeviceType = CUDA
) -> Callable[..., object]:
    """Return the callable for `Kernel.__call__`: a launcher, or `miss` itself without a usable driver and device."""
    operator = operator_of(kernel)
    if runtimes.virtual_gpu((torch.device(place.type),)) is not None:
        return miss
    if not place.built() or not driver.available() or not place.visible():
        return miss
    return operator.plans(place).attach(miss)
