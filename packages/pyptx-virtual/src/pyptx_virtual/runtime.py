"""Runtime `virtual`: pyptx's kernels on the virtual GPU. pyptx-torch's operators pass them to it.

Every process in which the package is installed imports this module, so it imports the simulator only for a launch.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, cast

from pyptx_ir.plugins.rows import ALLOCATED, Runtime

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import Launchable

PRIORITY: Final = -50  # below pyptx-torch, which takes the calls, and asks for this runtime by its name


def claims(arguments: Sequence[object]) -> bool:
    """Return whether the virtual GPU is active, and all arguments are CUDA tensors, or CUDA devices."""
    activation = sys.modules.get("pyptx_virtual.activation")
    return activation is not None and activation.is_active() and all(_on_cuda(each) for each in arguments)


def _on_cuda(value: Any) -> bool:  # noqa: ANN401 - a value of any type
    return getattr(getattr(value, "device", value), "type", None) == "cuda"


def call(kernel: Launchable, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Launch a kernel on the current stream, with the tensors of `out=` as its outputs; return these."""
    from pyptx_sim.runtime import prepared
    from pyptx_virtual.activation import active

    device, out = active(), cast("Sequence[object]", keywords["out"])
    tensors, outputs = ([device.host_view(each) for each in given] for given in (arguments, out))
    own = {name: value for name, value in keywords.items() if name not in {"out", ALLOCATED}}
    ready = prepared(kernel, tensors, own, tuple(outputs), allocated=ALLOCATED in keywords)
    if 0 not in ready.special.grid:
        special, stream = ready.special, device.streams.current
        device.context.launch(special.module, ready.launch, stream=stream, origins=special.origins)
    return out


RUNTIME: Final = Runtime("virtual", PRIORITY, claims, call)
