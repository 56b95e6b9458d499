"""Check of torch for `pyptx doctor`: its version, the CUDA version of its build, the GPUs that it sees."""

from __future__ import annotations

import torch

from pyptx_ir.plugins.rows import Diagnosis


def check() -> tuple[Diagnosis, ...]:
    """Return torch's version, CUDA version and number of GPUs, for `pyptx doctor`."""
    built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
    if not torch.cuda.is_available():
        return (
            Diagnosis(
                "torch", "ok", f"{torch.__version__}, {built}, found no GPU: kernels on CPU tensors are simulated"
            ),
        )
    count = torch.cuda.device_count()
    return (Diagnosis("torch", "ok", f"{torch.__version__}, {built}, found {count} GPU{'s' * (count != 1)}"),)
