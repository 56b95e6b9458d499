"""Functions of C++ by which code of torch.compile's Inductor allocates and launches without torch's dispatcher."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import torch

from pyptx_virtual.imports import when_imported
from pyptx_virtual.torch.untraced import untraced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Settings of Inductor, with their environment variables. Kernels are launched by Triton's driver, not by a C++ function
# over libcuda. They are compiled in this process, because worker processes have no virtual device.
_SETTINGS: Final = {
    "use_static_cuda_launcher": ("TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER", 0),
    "compile_threads": ("TORCHINDUCTOR_COMPILE_THREADS", 1),
}


def install_inductor() -> None:
    """Make code of Inductor allocate with the dispatcher, and launch with Triton's driver."""
    private: Any = torch._C  # noqa: SLF001 - Inductor's own names
    private._dynamo.guards._empty_strided_cuda = untraced(_empty_strided)  # noqa: SLF001 - the same
    config = sys.modules.get("torch._inductor.config")
    for name, (variable, value) in _SETTINGS.items():
        os.environ[variable] = str(value)
        if config is not None:
            setattr(config, name, value)
    when_imported(["torch._inductor.compile_fx"], _without_graphs)


def _without_graphs(name: str) -> None:
    """Make the modes of torch.compile that record CUDA graphs launch each kernel: the results are the same.

    Inductor's trees of graphs inspect the blocks of torch's CUDA allocator, which the virtual device does not use.
    """

    def cudagraphify(model: Callable[..., Any], *_: object, **__: object) -> Callable[..., Any]:
        return model

    sys.modules[name].__dict__["cudagraphify"] = cudagraphify


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")
