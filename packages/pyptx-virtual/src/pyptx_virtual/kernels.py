"""Runtime `virtual`: pyptx's kernels on the virtual GPU. pyptx-torch's operators pass them to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pyptx_ir.plugins.rows import ALLOCATED, Runtime
from pyptx_virtual.activation import active, is_active

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import Launchable

PRIORITY: Final = -200  # below all others: pyptx-torch takes the calls, and asks for this runtime by its name


def claims(arguments: Sequence[object]) -> bool:
    """Return whether the virtual GPU is active, and all arguments are CUDA tensors, or CUDA devices."""
    return is_active() and all(_on_cuda(each) for each in arguments)


def _on_cuda(value: Any) -> bool:  # noqa: ANN401 - a value of any type
    return getattr(getattr(value, "device", value), "type", None) == "cuda"


def call(kernel: Launchable, arguments: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Launch a kernel on the current stream, with the tensors of `out=` as its outputs; return these."""
    from pyptx_sim.runtime import prepared

    device, out = active(), cast("Sequence[object]", keywords["out"])
    tensors, outputs = ([device.host_view(each) for each in given] for given in (arguments, out))
    own = {name: value for name, value in keywords.items() if name not in {"out", ALLOCATED}}
    ready = prepared(kernel, tensors, own, tuple(outputs), allocated=ALLOCATED in keywords)
    if 0 not in ready.special.grid:
        special, stream = ready.special, device.streams.current
        device.context.launch(special.module, ready.launch, stream=stream, origins=special.origins)
    return out


RUNTIME: Final = Runtime("virtual", PRIORITY, claims, call)
