"""The native extension alone, on the null driver: time of a call as its parts are added one by one."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.launch.rounds import measure
from benchmarks.launch.subjects import COUNT, null_driver

if TYPE_CHECKING:
    from benchmarks.launch.rounds import Calls

    from pyptx_launch import Launcher, Plan


def shim(repeat: int, _device: str) -> list[dict[str, Any]]:
    """Measure the native extension on the null driver, with CPU tensors if torch is installed."""
    null_driver().record(on=False)
    plan = plan_of_three()
    addresses = (4096, 8192, 12288)
    calls: Calls = {"plan.launch": lambda: plan.launch(addresses, 0, 0)}
    if importlib.util.find_spec("torch"):
        calls.update(launcher_calls(plan))
    return measure(calls, lambda: None, 500, 10 * repeat)  # 500 calls per round, as in torch_on_null.py


def plan_of_three() -> Plan:
    """Return a launch plan with three pointer parameters."""
    from pyptx_launch import Module, Plan, Pointer

    parameters = ", ".join(f".param .u64 p{number}" for number in range(3))
    text = f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k({parameters}) {{ ret; }}\n"
    rows = tuple(map(Pointer, range(3)))
    return Plan(Module(text.encode()), "k", grid=(32, 1, 1), block=(128, 1, 1), parameters=rows)


def launcher_calls(plan: Plan) -> Calls:
    """Return calls of launchers that query more and more of torch's state; one of them queries in Python, not C++."""
    import torch

    from pyptx_torch.internals import GUARDS, TENSOR_GUARDS, VARIABLES, count_versions
    from pyptx_torch.native import native

    x, w, y = (torch.ones(COUNT) for _ in range(3))
    python: dict[str, Any] = {
        "guards": GUARDS, "tensor_guards": TENSOR_GUARDS, "grad_mode": torch.is_grad_enabled,
        "count_writes": count_versions,
    }  # fmt: skip
    directly: dict[str, Any] = {"native": native(), "count_writes": count_versions}
    bare = launcher(plan)
    asking = launcher(plan, **directly)
    whole = launcher(plan, **directly, variables=VARIABLES)
    asking_python = launcher(plan, **python)
    return {
        "launcher, out=, without queries of torch's state": lambda: bare(x, w, out=y),
        "queries of modes, gradients, negation, versions": lambda: asking(x, w, out=y),
        "queries of forward-mode derivatives, too": lambda: whole(x, w, out=y),
        "all queries, output allocated by the launcher": lambda: whole(x, w),
        "launcher, out=, all queries in Python": lambda: asking_python(x, w, out=y),
        "torch.empty_like": lambda: torch.empty_like(x),
    }


def launcher(plan: Plan, **options: Any) -> Launcher:  # noqa: ANN401 - Launcher's
    """Return a launcher with a cached launch of two tensors and an output."""
    import torch

    from pyptx_launch import Launcher, Signature

    one = Signature((COUNT,), device=(1, 0), alignment=4)
    made = Launcher(missed, types=(torch.Tensor, torch.nn.Parameter), empty_like=torch.empty_like, **options)
    made.add(plan, (one, one), (one,), like=[torch.empty(COUNT)])
    return made


def missed(*_: object, **__: object) -> None:
    """Exit with an error: a cache miss must not be timed as a launch."""
    sys.exit("the launcher missed")
