"""Launches of torch calls (kernel, stream, parameter bytes) on the null driver, with CPU tensors as device memory."""

from __future__ import annotations

import copy
import functools
import gc
import importlib.util
import struct
import sys
import threading
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import pyptx_launch as launch
from pyptx_dsl import ptx
from pyptx_dsl.contract.scalars import Scalar
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import AlignmentError, DtypeError, LayoutError, ShapeError
from pyptx_dsl.kernels import decorator
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.types import f32
from pyptx_torch import cuda, device_types, dispatch, eager, operators, plans

PACKAGES = Path(__file__).parents[2] / "packages"


def from_file(path: Path) -> Any:
    """Import a test file of another distribution by its path, because it has no importable name."""
    name = "_".join(path.with_suffix("").parts[-3:]).replace("-", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


kernels = from_file(PACKAGES / "pyptx-torch" / "tests" / "kernels.py")
null_driver = from_file(PACKAGES / "pyptx-launch" / "tests" / "null_driver.py")

pytestmark = [pytest.mark.no_cover, pytest.mark.torch, pytest.mark.ptxas]

STREAM = 7
HOST = device_types.DeviceType(
    "cpu",
    1,  # kDLCPU: DLPack device type of the tensors that stand for device memory
    built=lambda: True,
    stream=lambda device: STREAM,
    ordinal=lambda: 0,
    capturing=lambda: False,
    wait=lambda device: None,
)


@pytest.fixture
def null():
    driver = null_driver.install()
    driver.reset()
    yield driver
    driver.reset()


def caller(kernel, place=HOST):
    """Return the kernel's launcher, and a list of the calls that the launcher passed on to `kernel.specialize`."""
    operator, long = operators.operator_of(kernel), []

    def miss(*tensors, out=None, device="cpu", **keywords):
        long.append(keywords)
        given = None if out is None else (out if isinstance(out, tuple) else (out,))
        where = tensors[0].device if tensors else torch.device(device)
        made = cuda.run(operator, tensors, keywords, given, where, place)
        return made[0] if len(made) == 1 else made or None

    return eager.launcher_of(kernel, miss, place), long


def pointers(*tensors):
    return [struct.pack("<Q", tensor.data_ptr()) for tensor in tensors]


def test_the_first_call_goes_the_long_way_and_the_next_straight_to_the_driver(null):
    call, long = caller(kernels.build_double())
    x = torch.ones(64)
    first, second = call(x), call(x)
    assert len(long) == 1
    one, other = null.launches()
    assert one["entry"] == other["entry"] == "double"
    assert one["grid"] == other["grid"] == [2, 1, 1]
    assert one["stream"] == STREAM
    assert one["parameters"] == pointers(x, first)
    assert other["parameters"] == pointers(x, second)
    assert first.data_ptr() != second.data_ptr()
    assert (second.shape, second.dtype) == (x.shape, x.dtype)


def test_numbers_are_passed_by_value_and_change_without_the_long_way(null):
    call, long = caller(kernels.power)
    x = torch.ones(2, 32)
    for alpha in (2.0, 3, 0.5):
        call(x, alpha=alpha)
    assert [struct.unpack("<f", one["parameters"][2])[0] for one in null.launches()] == [2.0, 3.0, 0.5]
    assert len(long) <= 1


def test_template_values_make_plans_of_their_own(null):
    call, long = caller(kernels.power)
    x = torch.ones(2, 32)
    for times in (1, 2, 1, 2):
        call(x, alpha=1.0, times=times)
    libraries = [one["library"] for one in null.launches()]
    assert libraries[0] == libraries[2] != libraries[1] == libraries[3]
    assert len(long) <= 2


@pytest.fixture
def specialized(monkeypatch):
    """Launch calls with CPU tensors; return the keywords of the calls that reached `Kernel.specialize`."""
    entered, specialize = [], Kernel.specialize

    def counted(self, arguments, keywords):
        entered.append(dict(keywords))
        return specialize(self, arguments, keywords)

    monkeypatch.setattr(Kernel, "specialize", counted)
    monkeypatch.setitem(dispatch.RUNNERS, "cpu", functools.partial(cuda.run, place=HOST))
    return entered


def directly(kernel):
    """Return a kernel whose calls with CPU tensors try the launcher before `Kernel.specialize`."""
    kernel._launcher = eager.launcher_of(kernel, kernel._run, HOST)
    return kernel


def build_sized():
    """Return a kernel with a dimension, template values, two scalar arguments and no input arrays."""

    @decorator.kernel(
        in_specs=(Scalar(f32),),
        out_specs=(Tile("N", f32),),
        grid=lambda N: N // 32,
        block=32,
        raw_params=[("u32", "N"), ("u32", "count")],
    )
    def sized(alpha, Y, *, mode="sum", shape=(1, 1), skip=None):
        del mode, skip
        (py,) = ptx.global_ptrs(Y)
        for _ in range(shape[0]):
            ptx.inst.st.global_.f32(ptx.addr(py), alpha)
        ptx.ret()

    return sized


@pytest.mark.parametrize(
    "keywords",
    [
        {"N": 64, "device": "cpu"},
        {"N": 64, "device": torch.device("cpu")},
        {"N": 64, "device": "cpu", "mode": "max"},
        {"N": 64, "device": "cpu", "shape": (2, 1)},
        {"N": 64, "device": "cpu", "shape": (2, 1), "mode": "max", "skip": True},
        {"N": 64, "out": torch.empty(64)},
    ],
    ids=" ".join,
)
def test_calls_with_sizes_and_template_values_are_checked_once_and_launched_directly(null, specialized, keywords):
    kernel = directly(build_sized())
    for number in range(5):
        made = kernel(0.5 * number, count=number, **keywords)
        assert made.shape == (64,)
    for kept in (dict(reversed(keywords.items())), copy.deepcopy(keywords) | {"N": int("64")}):
        kernel(1.0, count=1, **kept)
    assert len(specialized) == 1
    launches = null.launches()
    assert len(launches) == 7
    for number, one in enumerate(launches[:5]):
        assert one["parameters"][1:] == [struct.pack("<f", 0.5 * number), *(struct.pack("<I", n) for n in (64, number))]


def test_a_size_that_is_a_raw_parameter_too_is_checked_in_every_call(null, specialized):
    kernel = directly(build_sized())
    for size in (64, 128, 64, 128):
        assert kernel(1.0, N=size, count=1, device="cpu").shape == (size,)
    assert [one["grid"][0] for one in null.launches()] == [2, 4, 2, 4]
    assert len(specialized) == 2

    @decorator.kernel(in_specs=(Tile("N", f32),), grid=1, block=32, raw_params=[("u32", "N")])
    def told(X):
        ptx.global_ptrs(X)
        ptx.ret()

    directly(told)(torch.ones(32))
    for _ in range(2):
        with pytest.raises(ShapeError, match="N=64 contradicts the arrays, where N is 32"):
            told(torch.ones(32), N=64)


@pytest.mark.usefixtures("null")
def test_values_that_are_equal_and_shape_another_text_have_plans_of_their_own(specialized):
    kernel = directly(build_sized())
    values = (1, True, 1.0, "1", (1,), (1.0,), (True,), -0.0, 0.0)
    for _ in range(3):
        for value in values:
            kernel(1.0, N=32, count=1, device="cpu", skip=value)
    assert len(specialized) == len(values)
    changed = [1]
    for value in (1, 2):
        changed[0] = value
        kernel(1.0, N=32, count=1, device="cpu", skip=changed)
    assert [each["skip"] for each in specialized[-2:]] == [[1], [2]]


@pytest.mark.usefixtures("null")
def test_kernels_go_with_the_values_that_they_were_called_with(monkeypatch):
    monkeypatch.setitem(dispatch.RUNNERS, "cpu", functools.partial(cuda.run, place=HOST))
    kernel = directly(build_sized())
    gone = weakref.ref(kernel)
    kernel(1.0, N=32, count=1, device="cpu", skip=lambda held=kernel: held)
    kernel(1.0, N=32, count=1, device="cpu", skip=(1, 2))
    del kernel
    gc.collect()
    assert gone() is None


def test_specializations_that_differ_in_their_grid_alone_share_their_code(null):
    call, _ = caller(kernels.build_double())
    call(torch.ones(32)), call(torch.ones(64))
    first, second = null.launches()
    assert first["library"] == second["library"]
    assert (first["grid"][0], second["grid"][0]) == (1, 2)


def test_a_persistent_kernel_has_the_blocks_of_the_device(null):
    call, long = caller(kernels.blocks)
    for size in (100, 264, 400, 400):
        call(torch.ones(size, dtype=torch.int32))
    assert [one["grid"][0] for one in null.launches()] == [100, 264, 264, 264]
    assert len(long) == 3


def test_every_kind_of_kernel_gets_its_pointers_in_order(null):
    a, b = torch.ones(32), torch.ones(32)
    c, d = caller(kernels.sum_and_difference)[0](a, b)
    assert caller(kernels.scale_)[0](a, alpha=2.0) is None
    before = caller(kernels.accumulate)[0](a, b)
    columns = torch.ones(8, 4).T
    y = caller(kernels.double_columns)[0](columns)
    assert y.stride() == columns.stride()
    wanted = [pointers(a, b, c, d), pointers(a), pointers(a, b, before), pointers(columns, y)]
    for one, addresses in zip(null.launches(), wanted, strict=True):
        assert one["parameters"][: len(addresses)] == addresses


def test_a_call_with_no_elements_and_no_blocks_launches_nothing(null):
    call, long = caller(kernels.build_double())
    for _ in range(2):
        made = call(torch.empty(0))
        assert (made.shape, made.dtype) == ((0,), torch.float32)
    out = torch.empty(0)
    assert call(torch.empty(0), out=out) is out
    assert (null.launches(), len(long)) == ([], 3)
    call(torch.ones(64))
    (launch,) = null.launches()
    assert launch["grid"] == [2, 1, 1]


def test_a_kernel_without_inputs_launches_on_the_device_of_the_call(null):
    operator = operators.operator_of(kernels.fill)
    (made,) = cuda.run(operator, (), {"N": 64, "alpha": 1.5}, None, torch.device("cpu"), HOST)
    (one,) = null.launches()
    assert one["parameters"] == [*pointers(made), struct.pack("<f", 1.5)]
    operator = operators.operator_of(kernels.fill_words)
    cuda.run(operator, (), {"N": 32, "word": 2**64 - 1}, None, torch.device("cpu"), HOST)
    assert null.launches()[0]["parameters"][1] == b"\xff" * 8


def test_out_is_launched_into_and_its_version_counts(null):
    call, long = caller(kernels.build_double())
    x, y = torch.ones(32), torch.empty(32)
    call(x)
    before = y._version
    assert call(x, out=y) is y
    assert len(long) == 1
    assert null.launches()[1]["parameters"] == pointers(x, y)
    assert y._version > before
    call, long = caller(kernels.scale_)
    call(x, alpha=1.0)
    before = x._version
    call(x, alpha=1.0)
    assert x._version > before
    assert len(long) <= 1


def test_what_does_not_look_the_same_goes_the_long_way_and_is_checked_there(null):
    call, _ = caller(kernels.build_double())
    x = torch.ones(32)
    call(x)
    odd = torch.frombuffer(bytearray(4 * 33), dtype=torch.float32, offset=1, count=32)
    for wrong, error in (
        (x.int(), DtypeError),
        (torch.ones(64)[::2], LayoutError),
        (odd, AlignmentError),
        (torch._neg_view(torch.ones(1)).expand(32), LayoutError),
    ):
        with pytest.raises(error):
            call(wrong)
    null.take()
    call(x)
    assert len(null.launches()) == 1


def freed(offset=0):
    tensor = torch.ones(32 + offset)[offset:]
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    "without",
    [
        lambda call, x: call(freed()),
        lambda call, x: call(freed(32)),
        lambda call, x: call(torch._efficientzerotensor((32,))),
        lambda call, x: call(x, out=freed()),
    ],
    ids=["freed", "view of freed", "zero tensor", "out"],
)
def test_a_tensor_without_memory_is_an_error_and_nothing_is_launched(null, warm, without):
    call, _ = caller(kernels.build_double())
    x = torch.ones(32)
    if warm:
        call(x)
        null.take()
    with pytest.raises(LayoutError, match="has no memory"):
        without(call, x)
    assert not null.launches()
    call(x)
    assert len(null.launches()) == 1


@pytest.fixture
def searches(monkeypatch):
    """Launch calls of torch's dispatcher on the null driver; return a list with the inputs of each `Plans.find`."""
    monkeypatch.setitem(dispatch.RUNNERS, "cpu", functools.partial(cuda.run, place=HOST))
    found, find = [], plans.Plans.find

    def searched(self, inputs, *rest):
        found.append(inputs)
        return find(self, inputs, *rest)

    monkeypatch.setattr(plans.Plans, "find", searched)
    return found


def test_calls_of_the_dispatcher_are_launched_again_without_a_search(null, searches):
    kernel = kernels.build_double()
    compiled = torch.compile(operators.operator_of(kernel).default, backend="aot_eager", fullgraph=True)
    x = torch.ones(64)
    made = [operators.operator_of(kernel).default(x), *(compiled(x) for _ in range(3))]
    assert [one["parameters"] for one in null.launches()] == [pointers(x, y) for y in made]
    assert len(searches) == 1
    wanting = torch.ones(64, requires_grad=True)
    assert operators.operator_of(kernel).default(wanting).requires_grad  # dispatched by autograd, not launched directly
    assert len(null.launches()) == 1


def test_what_the_dispatcher_launches_again_is_written_to_once(null, searches):
    accumulate = operators.operator_of(kernels.accumulate).default
    a, b = torch.ones(32), torch.ones(32)
    versions = []
    for _ in range(3):
        before = [each._version for each in (a, b)]
        accumulate(a, b)
        versions.append([each._version - old for each, old in zip((a, b), before, strict=True)])
    assert versions[0] == versions[1] == versions[2]
    assert sum(versions[0]) == 1
    assert len(searches) <= 1  # 0 if an earlier test has cached the launch plan
    assert len(null.launches()) == 3


@pytest.mark.usefixtures("null")
def test_where_torch_sees_no_device_no_call_asks_one():
    def asked():
        raise RuntimeError("the driver is too old for this torch")

    blind = replace(HOST, visible=lambda: False, capturing=asked)
    call = eager.launcher_of(kernels.build_double(), lambda x: x + x, blind)
    assert torch.equal(call(torch.ones(32)), torch.full((32,), 2.0))


@pytest.mark.usefixtures("null")
def test_a_single_element_whose_negation_is_pending_is_never_read_without_its_sign():
    call, _ = caller(kernels.negate_one)
    call(torch.ones(1))
    imaginary = torch.ones(1, dtype=torch.complex64).conj().imag
    assert imaginary.is_neg()
    with pytest.raises(LayoutError, match="resolve_neg"):
        call(imaginary)


@pytest.mark.parametrize(
    "mode",
    [
        lambda run: torch.vmap(run)(torch.ones(2, 32)),
        lambda run: torch.func.grad(lambda x: run(x).sum())(torch.ones(32)),
        lambda run: torch.jit.trace(lambda x: run(x), torch.ones(32), check_trace=False),  # noqa: PLW0108 - trace needs a name
        lambda run: in_a(FakeTensorMode(allow_non_fake_inputs=True), run),
        lambda run: in_a(torch.device("cpu"), run),
        lambda run: in_a(torch.autograd.forward_ad.dual_level(), run),
        lambda run: run(torch.ones(32, requires_grad=True)),
    ],
    ids=["vmap", "torch.func", "jit.trace", "dispatch mode", "function mode", "forward mode", "requires_grad"],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_what_torch_is_doing_is_never_bypassed(null, mode):
    operator, long = operators.operator_of(kernel := kernels.build_double()), []

    def miss(*tensors):
        long.append(tensors)
        return tensors[0] * 2

    call = eager.launcher_of(kernel, miss, HOST)
    cuda.run(operator, (torch.ones(32),), {}, None, torch.device("cpu"), HOST)
    null.take()
    call(torch.ones(32))
    assert len(null.launches()) == 1
    assert not long
    mode(call)
    assert long
    assert not null.launches()


def in_a(context, run):
    with context:
        return run(torch.ones(32))


@pytest.mark.usefixtures("null")
def test_gradients_are_not_lost_by_writing_past_autograd():
    call, long = caller(kernels.build_double())
    x, y = torch.ones(32), torch.empty(32)
    call(x, out=y)
    call(x, out=torch.empty(32, requires_grad=True))
    assert len(long) == 2
    with torch.no_grad():
        call(x, out=torch.empty(32, requires_grad=True))
    assert len(long) == 2


@pytest.mark.usefixtures("null")
@pytest.mark.parametrize(
    "kernel", [kernels.scale_, kernels.build_double(), kernels.negate_one], ids=lambda kernel: kernel.name
)
def test_arrays_of_another_framework_go_the_long_way(kernel):
    array, long = np.ones(32, np.float32), []
    call = eager.launcher_of(kernel, lambda *arrays, **keywords: long.append((arrays, keywords)), HOST)
    call(array, out=array)
    call()
    assert long == [((array,), {"out": array}), ((), {})]


def test_a_failing_launch_is_an_error_and_the_next_one_works(null):
    call, _ = caller(kernels.build_double())
    x = torch.ones(32)
    call(x)
    null.fail("cuLaunchKernelEx", 700)
    with pytest.raises(launch.DriverError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        call(x)
    null.take()
    call(x)
    assert len(null.launches()) == 1


def test_a_kernel_keeps_a_bounded_number_of_plans_and_what_a_graph_has_captured(null):
    capturing = []
    place = replace(HOST, capturing=lambda: bool(capturing))
    operator = operators.operator_of(kernels.build_double())
    before = null.live()["libraries"]
    kept = plans.Plans(operator, place, limit=8)
    launcher = kept.attach(lambda *tensors: None)
    capturing.append(True)
    captured = kept.find((torch.ones(32),), {}, torch.device("cpu"))
    capturing.clear()
    for blocks in range(2, 66):
        kept.find((torch.ones(32 * blocks),), {}, torch.device("cpu"))
        assert len(kept) <= 8
    alive = weakref.ref(captured)
    del captured
    gc.collect()
    assert alive() is not None
    assert null.live()["libraries"] - before <= 9
    null.take()
    assert launcher(torch.ones(32 * 65)) is not None
    assert len(null.launches()) == 1


def test_plans_go_with_their_kernel(null):
    gc.collect()
    before = null.live()["libraries"]
    for _ in range(20):
        call, _ = caller(kernels.build_double())
        call(torch.ones(32))
        del call
    gc.collect()
    assert null.live()["libraries"] == before


def test_many_threads_may_launch_one_kernel(null):
    call, long = caller(kernels.build_double())
    call(torch.ones(32))
    null.take()

    def work(blocks):
        for _ in range(50):
            assert call(torch.ones(32 * blocks)).numel() == 32 * blocks

    threads = [threading.Thread(target=work, args=(1 + number % 4,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(null.launches()) == 8 * 50
    assert len(long) >= 4
