"""First and later calls behave alike: results, checks, errors, version counters.

The null driver replaces NVIDIA's, and CPU tensors stand for device memory. A cold call goes through torch's dispatcher
and `Kernel.specialize`; a warm call goes through the launcher, which has a cached plan for the call.
"""

from __future__ import annotations

import functools
import gc
import os
import struct
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from pyptx_dsl.kernels import images
from pyptx_dsl.once import OncePerKey
from pyptx_torch import cuda, dispatch, eager, operators, plans

from .test_torch_launches import HOST, kernels, null_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.torch, pytest.mark.ptxas]


@pytest.fixture(autouse=True)
def null() -> Iterator[Any]:
    driver = null_driver.install()
    driver.reset()
    yield driver
    driver.reset()


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make torch's dispatcher launch kernels with CPU tensors on the null driver, instead of simulating them."""
    monkeypatch.setitem(dispatch.RUNNERS, "cpu", functools.partial(cuda.run, place=HOST))


class Both:
    """A kernel that tests can call cold (through torch's dispatcher) and warm (through the launcher)."""

    def __init__(self, build: Any, *warm_up: Any, **keywords: Any) -> None:
        self.kernel = build()
        self.cold = operators.operator_of(self.kernel)
        self.long: list[object] = []
        self.warm = eager.launcher_of(self.kernel, self._miss, HOST)
        self.warm(*warm_up, **keywords)
        self.long.clear()

    def _miss(self, *tensors: Any, **keywords: Any) -> Any:
        self.long.append((tensors, keywords))
        return self.cold(*tensors, **keywords)


def outcome(driver: Any, call: Any, *tensors: Any, out: Any = None, **keywords: Any) -> Any:
    """Return the observable effects of a call: its error, or its launch, results and tensor versions."""
    driver.take()
    given = () if out is None else tuple(out) if isinstance(out, tuple | list) else (out,)
    everything = [*tensors, *given]
    versions = [counted(tensor) for tensor in everything]
    try:
        made = call(*tensors, **keywords, **({} if out is None else {"out": out}))
    except Exception as error:  # noqa: BLE001 - whatever it is, both calls must raise it
        return type(error), str(error).splitlines()[0]
    shown = [made] if isinstance(made, torch.Tensor) else list(made or ())
    names = {tensor.data_ptr(): number for number, tensor in enumerate([*everything, *shown])}
    (launch,) = driver.launches()
    parameters = [
        names.get(struct.unpack("<Q", each)[0], each) if len(each) == 8 else each for each in launch["parameters"]
    ]
    looks = [(each.shape, each.stride(), each.dtype, each.is_inference(), each.requires_grad) for each in shown]
    counts = [counted(tensor) - before for tensor, before in zip(everything, versions, strict=True)]
    return parameters, launch["grid"], looks, counts, made is out


def counted(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def same(driver: Any, both: Both, *tensors: Any, **keywords: Any) -> Any:
    """Call the kernel cold and warm, check that the outcomes of both calls are equal, and return the outcome."""
    cold = outcome(driver, both.cold, *tensors, **keywords)
    warm = outcome(driver, both.warm, *tensors, **keywords)
    assert warm == cold
    return warm


def sums() -> Both:
    a, b = torch.ones(32), torch.ones(32)
    return Both(lambda: kernels.sum_and_difference, a, b)


def calls() -> Any:
    """Yield the name of a case, and arguments of `sum_and_difference` on vectors of 32 floats."""
    a, b, c, d = (torch.ones(32) for _ in range(4))
    base = torch.ones(96)
    imaginary = torch.ones(32, dtype=torch.complex64).conj().imag
    inferred = [torch.inference_mode()(torch.ones)(32) for _ in range(2)]
    yield "plain", (a, b), {}
    yield "one tensor as both inputs", (a, a), {}
    yield "out", (a, b), {"out": (c, d)}
    yield "out as a list", (a, b), {"out": [c, d]}
    yield "out= tensors are the inputs", (a, b), {"out": (a, b)}
    yield "out= contains one tensor twice", (a, b), {"out": (c, c)}
    yield "out= tensors overlap", (a, b), {"out": (base[:32], base[16:48])}
    yield "out= tensors are adjacent in memory", (a, b), {"out": (base[:32], base[32:64])}
    yield "out= has one tensor instead of two", (a, b), {"out": (c,)}
    yield "out= has three tensors instead of two", (a, b), {"out": (c, d, base[:32])}
    yield "an out= tensor requires a gradient", (a, b), {"out": (c, torch.ones(32, requires_grad=True))}
    yield "an out= tensor has dtype float64", (a, b), {"out": (c, d.double())}
    yield "out= tensors made in inference mode", (a, b), {"out": tuple(inferred)}
    yield "a pending negation", (imaginary, b), {}
    yield "a dense input with a pending negation", (a, torch._neg_view(b)), {}
    yield "an out= tensor has a pending negation", (a, b), {"out": (c, torch._neg_view(d))}
    yield "a parameter", (torch.nn.Parameter(a, requires_grad=False), b), {}
    yield "strides", (base[::3], b), {}
    yield "an offset", (base[1:33], b), {}
    yield "another size", (base[:64], base[32:]), {}
    yield "sizes that differ", (base[:64], b), {}
    yield "doubles", (a.double(), b.double()), {}
    yield "sparse", (a.to_sparse(), b), {}
    yield "quantized", (quantized(a), b), {}
    yield "one input instead of two", (a,), {}
    yield "an unknown keyword", (a, b), {"alpha": 2}


def quantized(tensor: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that quantized tensors are deprecated
        return torch.quantize_per_tensor(tensor, 1.0, 0, torch.qint8)


NAMES = [name for name, _, _ in calls()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_a_warm_call_does_what_a_cold_one_does(null, name, mode):
    with mode():
        tensors, keywords = next((tensors, keywords) for each, tensors, keywords in calls() if each == name)
        same(null, sums(), *tensors, **keywords)


def test_strided_numbers_keep_their_sign(null):
    x = torch.ones(32)
    both = Both(lambda: kernels.scale_, x, alpha=1.0)
    error = same(null, both, torch.ones(32, dtype=torch.complex64).conj().imag, alpha=1.0)
    assert "strides" in error[1] or "negation" in error[1]
    same(null, both, x, alpha=2.0)
    assert len(both.long) == 1, "the call with a plain tensor did not use the launcher"


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.resize_(7, 9),
        lambda y: y.resize_(0),
        lambda y: y.untyped_storage().resize_(0),
        lambda y: torch.add(torch.ones(3), 1, out=y.resize_(0)),
        lambda y: y.set_(torch.ones(5)),
        lambda y: y.share_memory_(),
        lambda y: y.untyped_storage().resizable() or 1 / 0,
        lambda y: y.clone().requires_grad_().sum().backward(),
    ],
    ids=["grow", "shrink", "storage", "out", "set", "share", "resizable", "grad"],
)
def test_outputs_are_the_frameworks_own_memory_warm_and_cold_alike(change):
    x = torch.ones(32)
    both = Both(kernels.build_double, x)
    for call in (both.cold, both.warm):
        change(call(x))
    assert not both.long


def test_columns_are_allocated_by_columns_on_the_short_way_too(null):
    x = torch.ones(8, 4).t()
    both = Both(lambda: kernels.double_columns, x)
    assert same(null, both, x)[2][0][1] == (1, 4)
    assert not both.long


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")  # torch 2.11 warns for every profile
def test_a_profiler_sees_warm_calls_by_the_kernels_name():
    x = torch.ones(32)
    both = Both(kernels.build_double, x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        both.warm(x)
    names = [event.name for event in profile.events()]
    assert any("double" in name for name in names), names
    both.long.clear()
    both.warm(x)
    assert not both.long, "the call after profiling did not use the launcher"


def test_the_long_way_of_twenty_scalars_is_the_short_one(null):
    from pyptx_dsl import ptx
    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.kernels.decorator import kernel
    from pyptx_dsl.types import f32

    @kernel(in_specs=(Tile("N", f32),), grid=1, block=32, raw_params=[("u32", f"s{number}") for number in range(20)])
    def many(X):
        ptx.global_ptrs(X)
        ptx.ret()

    values = {f"s{number}": 3 * number + 1 for number in range(20)}
    x = torch.ones(32)
    both = Both(lambda: many, x, **values)
    parameters = same(null, both, x, **values)[0]
    assert parameters[1:] == [struct.pack("<I", value) for value in values.values()]
    for _ in range(3):
        assert same(null, both, x, **values)[0] == parameters
    assert not both.long


def test_compilers_run_side_by_side_and_once_for_each_text(monkeypatch):
    running, most, compiled = [], [], []

    def slowly(special: Any, target: str | None = None) -> bytes:
        running.append(special)
        most.append(len(running))
        time.sleep(0.1)
        compiled.append(special.text)
        running.remove(special)
        return images.image_of(special, target)

    monkeypatch.setattr(plans, "image_of", slowly)
    operator = operators.operator_of(kernels.power)
    kept = plans.Plans(operator, HOST)
    x = torch.ones(2, 32)

    def work(times: int) -> None:
        kept.find((x,), {"alpha": 1.0, "times": times}, torch.device("cpu"))

    threads = [threading.Thread(target=work, args=(11 + number % 2,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == len(set(compiled)) == 2
    assert max(most) == 2, "the two different PTX texts were not compiled at the same time"
    assert len(kept) == 2


def test_what_fails_to_be_made_is_made_again_by_whoever_waits():
    once, begun, attempts = OncePerKey[str, Both](), threading.Event(), []

    def fails() -> Both:
        begun.set()
        attempts.append("fails")
        time.sleep(0.05)
        raise ValueError

    def works() -> Both:
        attempts.append("works")
        return Both.__new__(Both)

    def first() -> None:
        with pytest.raises(ValueError):
            once.get("a", fails)

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait()
    made = once.get("a", works)
    thread.join()
    assert attempts == ["fails", "works"]
    assert once.get("a", fails) is made
    assert "a" in once
    del made
    assert len(once) == 0, "the unreferenced value is still cached"


def test_warm_calls_leave_nothing_behind(null):
    x, y = torch.ones(32), torch.empty(32)
    both = Both(kernels.build_double, x)
    null.record(on=False)

    def allocated() -> int:
        gc.collect()
        return len(gc.get_objects())

    for _ in range(100):
        both.warm(x)
        both.warm(x, out=y)
    before = allocated()
    for _ in range(10_000):
        both.warm(x)
        both.warm(x, out=y)
    assert allocated() - before < 100
    assert not both.long


def test_threads_launch_while_plans_come_and_go(null):
    kernel = kernels.build_double()
    operator, wrong = operators.operator_of(kernel), []
    kept = plans.Plans(operator, HOST, limit=8)

    def miss(x: torch.Tensor, out: Any = None) -> Any:
        ready = kept.find((x,), {}, torch.device("cpu"))
        made = torch.empty_like(x) if out is None else out
        ready.plan.launch([x.data_ptr(), made.data_ptr()], 0, 0)
        return made

    launcher = kept.attach(miss)
    null.record(on=False)
    before, calls = null.count(), 10_000
    hot = [torch.ones(32 * blocks) for blocks in (1, 2, 3, 4)]
    cold = [torch.ones(32 * blocks) for blocks in range(5, 45)]

    def work(thread: int) -> None:
        out = [torch.empty_like(x) for x in hot]
        for step in range(calls):
            which = (thread + step) % 4
            x = cold[(thread * 7 + step // 500) % 40] if step % 500 == 0 else hot[which]
            y = launcher(x, out=out[which]) if step % 2 and x is hot[which] else launcher(x)
            if y.shape != x.shape:
                wrong.append((x.shape, y.shape))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert null.count() - before == 8 * calls
    assert len(kept) <= 8


def test_twenty_thousand_calls_do_not_grow_the_process(null):
    x = torch.ones(1024)
    both = Both(kernels.build_double, x)
    null.record(on=False)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(2_000):
        both.warm(x)
    before = resident()
    for _ in range(20_000):
        both.warm(x)
    assert resident() - before < 1 << 20, "outputs leak: 80 MB were allocated"
