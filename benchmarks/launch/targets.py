"""Targets for the host time of a call, and whether measured times are within these limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.launch.first_call import EMPTY, FILLED
from benchmarks.launch.torch_calls import REPLAY
from benchmarks.launch.torch_on_null import ADD, ADD_OUT, MUTATING, OUT, OUTPUT, SCALAR, SCALAR_MUTATING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Target:
    """Upper limit of a measured value; both are in `unit`."""

    name: str
    limit: float
    unit: str
    needs: str  # name of the benchmark part that measures the value
    value: Callable[[dict[str, float]], float]


TORCH, JAX = "torch on the GPU", "jax on the GPU"
TORCH_NULL, JAX_NULL = "torch on the null driver", "jax on the null driver"
TARGETS = (
    Target("eager call with its output allocated", 5.0, "us", TORCH, lambda us: us["ours"]),
    Target("eager call / torch.add", 1.2, "x", TORCH, lambda us: us["ours"] / us["torch.add"]),
    Target("graph replay / the driver's", 1.05, "x", TORCH, lambda us: us[REPLAY] / us["replay of cuLaunchKernel"]),
    Target("jit(ours) / jit(x + w)", 1.1, "x", JAX, lambda us: us["jit(ours)"] / us["jit(x + w)"]),
    Target("whole call, output allocated / torch.add", 1.5, "x", TORCH_NULL, lambda us: us[OUTPUT] / us[ADD]),
    Target("whole call, out= / torch.add, out=", 1.1, "x", TORCH_NULL, lambda us: us[OUT] / us[ADD_OUT]),
    Target("whole call that writes to an input / torch.add", 1.5, "x", TORCH_NULL, lambda us: us[MUTATING] / us[ADD]),
    Target("whole call with a tensor and a number / torch.add", 1.5, "x", TORCH_NULL, lambda us: us[SCALAR] / us[ADD]),
    Target(
        "whole call with a number that writes to its input / torch.add",
        1.5,
        "x",
        TORCH_NULL,
        lambda us: us[SCALAR_MUTATING] / us[ADD],
    ),
    Target("jit(ours) / jit(x + w), no device", 1.1, "x", JAX_NULL, lambda us: us["jit(ours)"] / us["jit(x + w)"]),
    Target("first call of rms_norm, less ptxas", 50.0, "ms", "first call", lambda us: us[f"{EMPTY}: all"] / 1e3),
    Target(
        "second process, cubin from the cache",
        20.0,
        "ms",
        "first call",
        lambda us: us[f"{FILLED}: cubin, but for ptxas"] / 1e3,
    ),
)


def judge(parts: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the targets that this machine can measure, each with the measured value and whether the target is met."""
    judged = []
    for target in TARGETS:
        # On the null driver the target limits the best round: only other processes make a round slower than that.
        figure = "best" if target.needs in {TORCH_NULL, JAX_NULL} else "median"
        measured = {each["name"]: each[figure] for each in parts.get(target.needs, [])}
        if not measured:
            continue
        value = target.value(measured)
        told = f"{value:.2f} {target.unit}"
        judged.append({"name": target.name, "limit": target.limit, "measured": told, "met": value <= target.limit})
    return judged
