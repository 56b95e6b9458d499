"""What a call costs on the host: ours beside torch's, Triton's, jax's and the driver's own, all in the same run.

    python benchmarks/launch.py [--json FILE] [--repeat N]

Each part runs in a process of its own. On a machine with a GPU: the driver and torch, then jax. Without one: the same
calls on CPU tensors and arrays, which the simulator runs. In both cases: the shim on the null driver of the tests,
and the first launch of rms_norm in a process that has launched one other kernel, with an empty and with a filled
cache of cubins. Rows of a part are measured by turns; shown are the best and the median of the rounds, in
microseconds of a call, and the middle half of them. Targets that need a GPU say so where there is none. Exits with 1
if a part fails or a target is missed.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COUNT = 4096  # elements: nothing, for a GPU, so that what is left is the launch
THREADS = 128
NUMBER = 200  # launches of a round: fewer than the device's queue holds
# Rows that more than one place names.
REPLAY, ALLOCATED, EMPTY, FILLED = "replay of ours", "launcher, output allocated", "empty cache", "filled cache"
Calls = dict[str, Callable[[], object]]


def add_kernel(arch: str) -> Any:  # noqa: ANN401 - a kernel
    """Return Y = X + W, one element a thread."""
    from pyptx import Tile, kernel, ptx, reg
    from pyptx.types import f32, u32

    tile = Tile("N", f32)

    @kernel(in_specs=(tile, tile), out_specs=(tile,), grid=lambda N: N // THREADS, block=(THREADS, 1, 1), arch=arch)
    def add(X, W, Y) -> None:
        px, pw, py = ptx.global_ptrs(X, W, Y)
        at = reg.from_(ptx.special.tid.x(), u32)
        ptx.inst.mad.lo.u32(at, reg.from_(ptx.special.ctaid.x(), u32), THREADS, at)
        x, w = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + at * 4))
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + at * 4))
        ptx.inst.add.f32(x, x, w)
        ptx.inst.st.global_.f32(ptx.addr(py + at * 4), x)
        ptx.ret()

    return add


def device_target() -> str:
    """Return the target of the GPU; that of the oldest that we support where there is none."""
    from pyptx_launch import driver

    return driver.devices()[0].target if driver.available() else "sm_80"


def measure(calls: Calls, wait: Callable[[], object], number: int, repeat: int) -> list[dict[str, Any]]:
    """Time each call on the host in rounds, by turns; between rounds the device's queue is emptied, untimed."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for function in calls.values():
        timeit.timeit(function, number=number)
    for _ in range(repeat):
        for name, function in calls.items():
            wait()
            times[name].append(timeit.timeit(function, number=number) / number * 1e6)
    wait()
    return [row(name, found) for name, found in times.items()]


def row(name: str, times: list[float]) -> dict[str, Any]:
    """Return a row of the table: the best, the median and the middle half."""
    low, _, high = quantiles(times, n=4)
    return {
        "name": name, "best": min(times), "median": median(times), "low": low, "high": high, "rounds": len(times)
    }  # fmt: skip


# The driver alone -----------------------------------------------------------------------------------------------------

LOOP = """
typedef unsigned u;
typedef int (*launch_t)(void *, u, u, u, u, u, u, u, void *, void **, void **);
void loop(launch_t launch, void *function, u blocks, u threads, void *stream, void **parameters, int count) {
  for (int i = 0; i < count; ++i) launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, 0);
}
"""


class RawLaunch:
    """cuLaunchKernel and nothing else: through ctypes, through cuda-python where that is, from a loop in C."""

    def __init__(self, image: bytes, entry: str, pointers: list[int]) -> None:
        self.library = ctypes.CDLL(os.environ.get("PYPTX_LIBCUDA") or "libcuda.so.1")
        self.pointers = [ctypes.c_uint64(pointer) for pointer in pointers]
        cells = [ctypes.cast(ctypes.pointer(pointer), ctypes.c_void_p) for pointer in self.pointers]
        self.parameters = (ctypes.c_void_p * len(cells))(*cells)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.library.cuModuleLoadData(ctypes.byref(module), image))
        self.check(self.library.cuModuleGetFunction(ctypes.byref(self.function), module, entry.encode()))
        self.blocks = COUNT // THREADS
        self.check(int(self.on(0)()))

    @staticmethod
    def check(status: int) -> None:
        """Stop where the driver refuses: a launch that fails is fast."""
        if status:
            sys.exit(f"the driver answers {status}")

    def on(self, stream: int) -> Callable[[], int]:
        """Return a launch on a stream through ctypes."""
        launch, null = self.library.cuLaunchKernel, ctypes.c_void_p(0)
        shape = [ctypes.c_uint(each) for each in (self.blocks, 1, 1, THREADS, 1, 1, 0)]
        arguments = (self.function, *shape, ctypes.c_void_p(stream), self.parameters, null)
        return lambda: int(launch(*arguments))

    def through_cuda_python(self, stream: int) -> Callable[[], object]:
        """Return a launch on a stream through cuda-python."""
        from cuda.bindings import driver as cuda

        function, queue = cuda.CUfunction(self.function.value), cuda.CUstream(stream)
        parameters = ctypes.addressof(self.parameters)
        arguments = (function, self.blocks, 1, 1, THREADS, 1, 1, 0, queue, parameters, 0)
        self.check(int(cuda.cuLaunchKernel(*arguments)[0]))
        return lambda: cuda.cuLaunchKernel(*arguments)

    def in_c(self, stream: int, number: int) -> Callable[[], object]:
        """Return `number` launches on a stream from a loop in C: the floor."""
        with tempfile.TemporaryDirectory() as folder:
            source, built = Path(folder) / "loop.c", Path(folder) / "loop.so"
            source.write_text(LOOP)
            compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
            subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", built, source], check=True)
            loop = ctypes.CDLL(str(built)).loop
        launch = ctypes.cast(self.library.cuLaunchKernel, ctypes.c_void_p)
        arguments = (launch, self.function, self.blocks, THREADS, ctypes.c_void_p(stream), self.parameters, number)
        return lambda: loop(*arguments)


# The parts ------------------------------------------------------------------------------------------------------------


def null_driver() -> Any:  # noqa: ANN401 - a class of a file among the tests
    """Let the shim open the null driver, and return what drives it."""
    spec = importlib.util.spec_from_file_location("null", ROOT / "packages/pyptx-launch/tests/null_driver.py")
    assert spec is not None
    assert spec.loader is not None
    null = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(null)
    return null.install()


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


def torch_calls(repeat: int, device: str) -> list[dict[str, Any]]:
    """Measure the kernel and torch's own addition, on tensors of a device."""
    import torch

    on_gpu = device == "cuda"
    kernel = add_kernel(device_target())
    x, w = torch.randn(COUNT, device=device), torch.randn(COUNT, device=device)
    y = torch.empty_like(x)
    assert torch.equal(kernel(x, w), x + w)
    calls: Calls = {
        "ours": lambda: kernel(x, w),
        "ours, out=": lambda: kernel(x, w, out=y),
        "torch.add": lambda: torch.add(x, w),
        "torch.add, out=": lambda: torch.add(x, w, out=y),
        "torch.empty_like": lambda: torch.empty_like(x),
    }
    if not on_gpu:
        return measure(calls, lambda: None, 50, repeat)
    plan, image = plan_of(kernel, x, w)
    raw = RawLaunch(image, "add", [each.data_ptr() for each in (x, w, y)])
    calls.update(driver_calls(plan, raw, x, w, y))
    calls.update(graph_calls(kernel, raw, x, w, y))
    calls["torch.compile(ours)"] = torch.compile(lambda: kernel(x, w), fullgraph=True)
    calls["torch.compile(x + w)"] = torch.compile(lambda: x + w, fullgraph=True)
    rows = measure(calls, torch.cuda.synchronize, NUMBER, repeat)
    assert torch.equal(y, x + w)
    return rows


def plan_of(kernel: Any, *tensors: Any) -> tuple[Any, bytes]:  # noqa: ANN401 - a kernel and tensors
    """Return the plan of a kernel for such vectors of floats, and the image that it runs."""
    from pyptx_dsl.images import image_of
    from pyptx_ir.plugins.rows import Argument
    from pyptx_launch import Module, plan_for

    special = kernel.specialize([Argument((COUNT,), "f32", (1,), each.data_ptr(), "cuda:0") for each in tensors], {})
    image = image_of(special)
    return plan_for(special, Module(image)), image


def driver_calls(plan: Any, raw: RawLaunch, x: Any, w: Any, y: Any) -> Calls:  # noqa: ANN401 - a plan and tensors
    """Return launches of the same code with nothing around them, and Triton's of its own."""
    import torch

    pointers, stream = [each.data_ptr() for each in (x, w, y)], torch.cuda.current_stream().cuda_stream
    calls: Calls = {
        "plan.launch": lambda: plan.launch(pointers, stream, 0),
        "cuLaunchKernel, ctypes": raw.on(stream),
    }
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.bindings"):
        calls["cuLaunchKernel, cuda-python"] = raw.through_cuda_python(stream)
    loop, called = raw.in_c(stream, NUMBER), [0]

    def floor() -> None:  # NUMBER launches at once in place of one in each of NUMBER calls
        called[0] += 1
        if called[0] % NUMBER == 0:
            loop()

    calls["cuLaunchKernel, a loop in C"] = floor
    if importlib.util.find_spec("triton"):
        calls["triton, out="] = triton_add(x, w, y)
    return calls


def triton_add(x: Any, w: Any, y: Any) -> Callable[[], object]:  # noqa: ANN401 - tensors
    """Return a launch of Triton's own vector addition."""
    import triton
    import triton.language as tl

    @triton.jit
    def add(x_pointer, w_pointer, y_pointer, count, block: tl.constexpr) -> None:
        at = tl.program_id(0) * block + tl.arange(0, block)
        total = tl.load(x_pointer + at, mask=at < count) + tl.load(w_pointer + at, mask=at < count)
        tl.store(y_pointer + at, total, mask=at < count)

    globals()["tl"] = tl  # where Triton looks for the names of the function
    return lambda: add[(COUNT // THREADS,)](x, w, y, COUNT, block=THREADS)


def graph_calls(kernel: Any, raw: RawLaunch, x: Any, w: Any, y: Any) -> Calls:  # noqa: ANN401 - a kernel and tensors
    """Return replays of graphs of one launch each: ours, torch's and the driver's."""
    import torch

    def replay(call: Callable[[], object]) -> Callable[[], object]:
        graph = torch.cuda.CUDAGraph()
        call()
        with torch.cuda.graph(graph):
            call()
        return graph.replay

    return {
        REPLAY: replay(lambda: kernel(x, w, out=y)),
        "replay of torch.add": replay(lambda: torch.add(x, w, out=y)),
        "replay of cuLaunchKernel": replay(lambda: RawLaunch.check(raw.on(torch.cuda.current_stream().cuda_stream)())),
    }


def jax_calls(repeat: int, device: str) -> list[dict[str, Any]]:
    """Measure the kernel and jax's own addition, on arrays of its default device."""
    import jax
    import numpy as np

    if device == "cuda" and jax.default_backend() != "gpu":
        sys.exit(f"jax runs on the {jax.default_backend()} here: its CUDA plugin is missing")
    kernel = add_kernel(device_target())
    x, w = (jax.numpy.asarray(np.random.default_rng(seed).standard_normal(COUNT, np.float32)) for seed in range(2))
    ours, theirs = jax.jit(kernel), jax.jit(lambda a, b: a + b)
    assert (ours(x, w) == x + w).all()
    assert (kernel(x, w) == x + w).all()
    calls: Calls = {
        "jit(ours)": lambda: ours(x, w),
        "jit(x + w)": lambda: theirs(x, w),
        "ours, not jitted": lambda: kernel(x, w),
        "x + w, not jitted": lambda: x + w,
    }
    return measure(calls, lambda: theirs(x, w).block_until_ready(), NUMBER if device == "cuda" else 50, repeat)


def first(repeat: int, _device: str) -> list[dict[str, Any]]:
    """Measure the first launch of rms_norm in fresh processes, with an empty cache of cubins and with a filled one."""
    found: dict[str, list[float]] = {}
    for _ in range(max(repeat // 5, 3)):
        with tempfile.TemporaryDirectory() as cache:
            for run in (EMPTY, FILLED):
                told = child("one-call", repeat, "cpu", {"PYPTX_CACHE_DIR": cache})[0]
                for name, spent in told.items():
                    found.setdefault(f"{run}: {name}", []).append(spent)
    return [row(name, times) for name, times in found.items()]


def one_call(_repeat: int, _device: str) -> list[dict[str, float]]:
    """Launch rms_norm for the first time, on the null driver; return the microseconds of the processor that it takes.

    Another kernel goes before it: what a process loads for its first kernel, it loads once.
    """
    import runpy

    null_driver().record(on=False)
    kernel = runpy.run_path(str(ROOT / "examples" / "hopper" / "rms_norm.py"))["rms_norm"]
    loading = stopwatch(add_kernel("sm_90a"), (COUNT,), (COUNT,))["all"]
    seconds = {**stopwatch(kernel, (16, 4096), (4096,)), "the process's first kernel": loading}
    return [{name: each * 1e6 for name, each in seconds.items()}]


def stopwatch(kernel: Any, *shapes: tuple[int, ...]) -> dict[str, float]:  # noqa: ANN401 - a kernel
    """Take a kernel from arrays of floats to its launch; return the processor's seconds, ptxas's apart from ours."""
    ptxas, begun = os.times(), time.process_time()
    from pyptx_dsl.images import image_of
    from pyptx_ir.plugins.rows import Argument
    from pyptx_launch import Module, plan_for

    arrays = [Argument(shape, "f32", (*shape[1:], 1), 4096, "cuda:0") for shape in shapes]
    special = kernel.specialize(arrays, {})
    traced = time.process_time()
    image = image_of(special)
    compiled = time.process_time()
    plan_for(special, Module(image)).launch((4096, 4096, 4096), 0, 0)
    ended, after = time.process_time(), os.times()
    return {
        "trace": traced - begun,
        "cubin, but for ptxas": compiled - traced,
        "plan and launch": ended - compiled,
        "all": ended - begun,
        "ptxas": after.children_user + after.children_system - ptxas.children_user - ptxas.children_system,
    }


# What is promised -----------------------------------------------------------------------------------------------------

Rows = dict[str, dict[str, float]]  # by part and name


@dataclass(frozen=True, slots=True)
class Target:
    """A promise: its value must stay under the limit; `unit` is what both are counted in."""

    name: str
    limit: float
    unit: str
    needs: str  # the part that measures it
    value: Callable[[dict[str, float]], float]


TORCH, JAX = "torch on the GPU", "jax on the GPU"
TARGETS = (
    Target("eager call with its output allocated", 5.0, "us", TORCH, lambda us: us["ours"]),
    Target("eager call / torch.add", 1.2, "x", TORCH, lambda us: us["ours"] / us["torch.add"]),
    Target("graph replay / the driver's", 1.05, "x", TORCH, lambda us: us[REPLAY] / us["replay of cuLaunchKernel"]),
    Target("jit(ours) / jit(x + w)", 1.1, "x", JAX, lambda us: us["jit(ours)"] / us["jit(x + w)"]),
    Target("the shim's own part", 1.0, "us", "shim", lambda us: us[ALLOCATED] - us["torch.empty_like"]),
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
        if not measured:
            continue
        value = target.value(measured)
        told = f"{value:.2f} {target.unit}"
        judged.append({"name": target.name, "limit": target.limit, "measured": told, "met": value <= target.limit})
    return judged


PARTS: dict[str, tuple[str, Callable[[int, str], list[dict[str, Any]]], str, int]] = {
    # by name: the switch, what runs, on which device, and how many seconds it may take
    "shim": ("shim", shim, "any", 40),
    "torch on the GPU": ("torch", torch_calls, "cuda", 100),
    "jax on the GPU": ("jax", jax_calls, "cuda", 60),
    "torch on the CPU": ("torch", torch_calls, "cpu", 120),
    "jax on the CPU": ("jax", jax_calls, "cpu", 120),
    "first call": ("first", first, "any", 60),
}


def child(switch: str, repeat: int, device: str, more: dict[str, str], seconds: int = 60) -> list[dict[str, Any]]:
    """Run a part in a process of its own and return what it measured."""
    command = [sys.executable, __file__, "--part", switch, "--device", device, "--repeat", str(repeat)]
    environment = {**os.environ, "PYPTX_CPU": "quiet", **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # users' Python keeps what it has compiled
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=seconds, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def machine() -> dict[str, object]:
    """Return where this runs."""
    from importlib import metadata

    from pyptx_launch import driver

    installed = {each.metadata["Name"].lower(): each.version for each in metadata.distributions()}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.argv]),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "gpu": driver.devices()[0].name if driver.available() else None,
        "driver": driver.version() if driver.available() else None,
        "versions": {name: installed[name] for name in ("torch", "triton", "jax", "jaxlib") if name in installed},
    }


def main() -> int:
    """Run all parts that this machine can, print a table, and return 1 if one fails or a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write everything there, too")
    parser.add_argument("--repeat", type=int, default=25, help="rounds of a part")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--device", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        switches = {switch: run for switch, run, _, _ in PARTS.values()} | {"one-call": one_call}
        print(json.dumps(switches[options.part](options.repeat, options.device)))
        return 0
    where = machine()
    print(json.dumps(where))
    device, failed = "cuda" if where["gpu"] else "cpu", False
    parts: dict[str, list[dict[str, Any]]] = {}
    for name, (switch, _, needs, seconds) in PARTS.items():
        if needs not in {"any", device} or (switch in {"torch", "jax"} and not importlib.util.find_spec(switch)):
            print(f"\n{name}: not here")
            continue
        print(f"\n{name:40} {'best':>10} {'median':>10} {'middle half':>21}", flush=True)
        try:
            parts[name] = child(switch, options.repeat, device, {}, seconds)
        except (subprocess.SubprocessError, ValueError, IndexError) as error:
            print(f"failed: {error}")
            failed = True
            continue
        for each in parts[name]:
            shown = "".join(f"{each[figure]:11.2f}" for figure in ("best", "median", "low", "high"))
            print(f"{each['name']:39} {shown}")
    targets = judge(parts)
    print()
    for target in TARGETS:
        known = next((each for each in targets if each["name"] == target.name), None)
        verdict = ("met   " if known["met"] else "MISSED") + f" {known['measured']}" if known else "not measured here"
        print(f"{target.name:40} under {target.limit:g} {target.unit:2}  {verdict}")
    if options.json:
        options.json.write_text(json.dumps({**where, "parts": parts, "targets": targets}, indent=1) + "\n")
    return int(failed or not all(each["met"] for each in targets))


if __name__ == "__main__":
    sys.exit(main())
