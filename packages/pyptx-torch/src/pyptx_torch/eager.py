"""The short way of an eager call: `Kernel.__call__` goes straight to pyptx_launch's launcher.

What the launcher does not know, it hands to the long way, which checks everything and teaches it. It passes by torch's
dispatcher, so it must not take a call that the dispatcher would treat in any way that a launcher cannot: `GUARDS` and
`TENSOR_GUARDS` in `internals` say which those are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_launch import driver
from pyptx_torch.operators import operator_of
from pyptx_torch.places import CUDA

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable
    from pyptx_torch.places import Place


def launcher_of(
    kernel: Launchable[Declaration], miss: Callable[..., object], place: Place = CUDA
) -> Callable[..., object]:
    """Return what `Kernel.__call__` goes to; `miss` itself where nothing can be launched directly."""
    operator = operator_of(kernel)
    if not place.built() or not driver.available() or not place.visible():
        return miss
    return operator.plans(place).attach(miss)
