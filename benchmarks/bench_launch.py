"""How long the shim of pyptx-launch takes for a call, on a driver that does nothing.

    python benchmarks/bench_launch.py [--repeat N] [--calls N]

The null driver of the tests stands for NVIDIA's, so what is measured is all of a call but the driver and the GPU: what
the framework does when it shows, allocates and wraps tensors, and the shim's own part, which is the rest. torch's own
`empty_like` and `add` on tensors as small are measured in the same run, interleaved. Exits with 1 if the shim's own
part is above what the repository promises.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import timeit
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch

from pyptx_launch import Launcher, Module, Plan, Pointer, Scalar, Signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

GOAL = 1.0  # microseconds of the shim's own part
CPU = (1, 0)
SHAPE = (16, 64)
NULL_DRIVER = Path(__file__).parents[1] / "packages/pyptx-launch/tests/null_driver.py"


def null_driver() -> ModuleType:
    """Return the module of the null driver, which is a file among the tests."""
    spec = importlib.util.spec_from_file_location("null_driver", NULL_DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plan_of(pointers: int, *scalars: Scalar) -> Plan:
    """Return a plan of so many tensors, and scalars of f32 behind them."""
    declared = [".param .u64 p{}"] * pointers + [".param .f32 p{}"] * len(scalars)
    parameters = ", ".join(each.format(number) for number, each in enumerate(declared))
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({parameters})\n{{ ret; }}\n"
    rows = (*map(Pointer, range(pointers)), *scalars)
    return Plan(Module(text.encode()), "k", grid=(16, 1, 1), block=(128, 1, 1), parameters=rows)


def launcher_of(inputs: int, outputs: int, *scalars: Scalar, **options: Any) -> Launcher:  # noqa: ANN401 - Launcher's
    """Return a launcher of tensors of one shape that never misses."""

    def miss(*_: object, **__: object) -> None:
        sys.exit("the launcher missed")

    one = Signature(SHAPE, device=CPU, alignment=16)
    launcher = Launcher(miss, types=(torch.Tensor,), scalars=[each.name for each in scalars], **options)
    launcher.add(plan_of(inputs + outputs, *scalars), (one,) * inputs, (one,) * outputs)
    return launcher


def cases() -> dict[str, Callable[[], object]]:
    """Return what is measured, by name."""
    x, w, y = (torch.ones(SHAPE) for _ in range(3))
    three, one, alpha = launcher_of(3, 0), launcher_of(2, 1), launcher_of(2, 1, Scalar("f32", "alpha"))
    guards = (torch._C._is_torch_function_mode_enabled, torch._C._len_torch_dispatch_stack)  # noqa: SLF001 - as pyptx-torch
    guarded = launcher_of(2, 1, guards=guards, grad_mode=torch.is_grad_enabled)
    plan, addresses = plan_of(3), (x.data_ptr(), w.data_ptr(), y.data_ptr())
    return {
        "nothing": lambda: None,
        "torch.empty_like": lambda: torch.empty_like(x),
        "torch.add": lambda: torch.add(x, w),
        "three tensors, no output": lambda: three(x, w, y),
        "two tensors, out=": lambda: one(x, w, out=y),
        "two tensors, output allocated": lambda: one(x, w),
        "the same, with a scalar": lambda: alpha(x, w, alpha=0.5),
        "the same, with guards": lambda: guarded(x, w),
        "plan.launch": lambda: plan.launch(addresses, 0, 0),
    }


def measure(functions: dict[str, Callable[[], object]], calls: int, repeat: int) -> dict[str, tuple[float, float]]:
    """Return best and median microseconds of each, the rounds interleaved, less those of calling a function."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeat):
        for name, function in functions.items():
            times[name].append(timeit.timeit(function, number=calls) / calls * 1e6)
    empty = min(times["nothing"])
    return {name: (min(found) - empty, median(found) - empty) for name, found in times.items()}


def main() -> int:
    """Measure every case, and hold the shim's own part against the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--calls", type=int, default=2_000)
    arguments = parser.parse_args()
    driver = null_driver().install()
    driver.record(on=False)
    found = measure(cases(), arguments.calls, arguments.repeat)
    framework = found["torch.empty_like"][0]
    print(f"{'microseconds':32} {'best':>6} {'median':>7} {'own part':>9}")
    missed = False
    for name, (best, middle) in found.items():
        own = best - framework if "output allocated" in name or "the same" in name else best
        counts = not name.startswith("torch") and name != "nothing"
        missed |= counts and own > GOAL
        print(f"{name:32} {best:6.2f} {middle:7.2f} {f'{own:9.2f}' if counts else ''}")
    print(f"launched {driver.count():,} times; own part: less an allocation by torch; goal {GOAL} each")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
