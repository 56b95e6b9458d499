"""What is promised of a call, and whether it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from benchmarks.launch.first_call import EMPTY, FILLED
from benchmarks.launch.shim import ALLOCATED
from benchmarks.launch.torch_calls import REPLAY

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Target:
    """A promise: its value must stay under the limit; `unit` is what both are counted in.

    `beside` is the framework with which its part compares, if the part runs without it too.
    """

    name: str
    limit: float
    unit: str
    needs: str  # the part that measures it
    value: Callable[[dict[str, float]], float]
    beside: str | None = None


TORCH, JAX = "torch on the GPU", "jax on the GPU"
TARGETS = (
    Target("eager call with its output allocated", 5.0, "us", TORCH, lambda us: us["ours"]),
    Target("eager call / torch.add", 1.2, "x", TORCH, lambda us: us["ours"] / us["torch.add"]),
    Target("graph replay / the driver's", 1.05, "x", TORCH, lambda us: us[REPLAY] / us["replay of cuLaunchKernel"]),
    Target("jit(ours) / jit(x + w)", 1.1, "x", JAX, lambda us: us["jit(ours)"] / us["jit(x + w)"]),
    Target("the shim's own part", 1.0, "us", "shim", lambda us: us[ALLOCATED] - us["torch.empty_like"], "torch"),
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
    """Return the targets that this machine can measure, met or not."""
    judged = []
    for target in TARGETS:
        # Beside the null driver nothing but this machine's other work makes a round slower than the best.
        figure = "best" if target.needs == "shim" else "median"
        measured = {each["name"]: each[figure] for each in parts.get(target.needs, [])}
        if not measured or (target.beside and find_spec(target.beside) is None):
            continue
        value = target.value(measured)
        told = f"{value:.2f} {target.unit}"
        judged.append({"name": target.name, "limit": target.limit, "measured": told, "met": value <= target.limit})
    return judged
