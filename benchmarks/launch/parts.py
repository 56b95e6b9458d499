"""Parts of the launch benchmark, with their devices and time limits."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.launch.first_call import first, one_call
from benchmarks.launch.jax_calls import jax_calls
from benchmarks.launch.jax_on_null import jax_on_null
from benchmarks.launch.shim import shim
from benchmarks.launch.torch_calls import torch_calls
from benchmarks.launch.torch_on_null import torch_on_null

Run = Callable[[int, str], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Part:
    """Part: its name in tables, the switch that runs it in its own process, and its time limit in seconds.

    `device` is the device that it needs, or "any".
    """

    name: str
    switch: str
    run: Run
    device: str
    seconds: int

    def runs_on(self, device: str) -> bool:
        """Return whether the part supports `device` and the part's framework is installed."""
        framework = self.switch.partition("-")[0]
        installed = framework not in {"torch", "jax"} or importlib.util.find_spec(framework) is not None
        return self.device in {"any", device} and installed


PARTS = (
    # Parts on the null driver run on machines without a GPU: torch for CUDA crashes if imported on that driver.
    Part("shim", "shim", shim, "cpu", 40),
    Part("torch on the null driver", "torch-null", torch_on_null, "cpu", 60),
    Part("jax on the null driver", "jax-null", jax_on_null, "cpu", 60),
    Part("torch on the GPU", "torch", torch_calls, "cuda", 100),
    Part("jax on the GPU", "jax", jax_calls, "cuda", 60),
    Part("torch on the CPU", "torch", torch_calls, "cpu", 120),
    Part("jax on the CPU", "jax", jax_calls, "cpu", 120),
    Part("first call", "first", first, "cpu", 60),
)
SWITCHES: dict[str, Run] = {part.switch: part.run for part in PARTS} | {"one-call": one_call}
"""Functions for `--part`: each part, and `first_call`'s single call."""
