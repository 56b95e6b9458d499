"""The shim by itself, on the null driver."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.launch.rounds import measure
from benchmarks.launch.subjects import COUNT, null_driver

if TYPE_CHECKING:
    from benchmarks.launch.rounds import Calls

ALLOCATED = "launcher, output allocated"


def shim(repeat: int, _device: str) -> list[dict[str, Any]]:
    """Measure the shim on the null driver, with CPU tensors of torch where torch is."""
    null_driver().record(on=False)
    from pyptx_launch import Launcher, Module, Plan, Pointer, Signature

    parameters = ", ".join(f".param .u64 p{number}" for number in range(3))
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({parameters}) {{ ret; }}\n"
    plan = Plan(
        Module(text.encode()), "k", grid=(32, 1, 1), block=(128, 1, 1), parameters=tuple(map(Pointer, range(3)))
    )
    addresses = (4096, 8192, 12288)
    calls: Calls = {"plan.launch": lambda: plan.launch(addresses, 0, 0)}
    if importlib.util.find_spec("torch"):
        import torch

        one = Signature((COUNT,), device=(1, 0), alignment=4)
        with_output, without = (Launcher(missed, types=(torch.Tensor,)) for _ in range(2))
        with_output.add(plan, (one, one), (one,))
        without.add(plan, (one, one, one), ())
        x, w, y = (torch.ones(COUNT) for _ in range(3))
        calls["launcher, 3 tensors"] = lambda: without(x, w, y)
        calls[ALLOCATED] = lambda: with_output(x, w)
        calls["torch.empty_like"] = lambda: torch.empty_like(x)
    return measure(calls, lambda: None, 5000, repeat)


def missed(*_: object, **__: object) -> None:
    """Stop: what a launcher does not know would be measured as something else."""
    sys.exit("the launcher missed")
