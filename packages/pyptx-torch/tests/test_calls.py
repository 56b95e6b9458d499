"""Eager calls with tensors on the CPU: every kind of kernel."""

from __future__ import annotations

import threading
import warnings

import pytest
import torch

from pyptx_dsl.errors import RuntimeMissingError
from pyptx_ir.errors import SimulatedExecution
from pyptx_ir.plugins.manager import manager
from pyptx_torch import operators

from .kernels import (
    accumulate,
    blocks,
    build_double,
    copy_bits,
    double,
    double_columns,
    fill,
    fill_words,
    power,
    scale_,
    sum_and_difference,
    whole_double,
)

pytestmark = pytest.mark.torch


def numbers(*shape):
    return torch.arange(1.0, 1.0 + torch.Size(shape).numel()).reshape(shape)


def test_an_eager_call_goes_through_the_operator_of_its_kernel():
    seen = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    x = numbers(64)
    with Watch():
        y = double(x)
    assert torch.equal(y, 2 * x)
    assert operators.operator_of(double).default in seen


@pytest.mark.parametrize(
    ("kernel", "schema"),
    [
        (double, '(Tensor X, *, str keywords="") -> Tensor'),
        (power, '(Tensor X, *, Scalar? alpha=None, str keywords="") -> Tensor'),
        (scale_, '(Tensor(a0!) X, *, Scalar? alpha=None, str keywords="") -> ()'),
        (accumulate, '(Tensor X, Tensor(a1!) Total, *, str keywords="") -> Tensor'),
        (fill, '(*, SymInt? N=None, Scalar? alpha=None, str keywords="", Device? device=None) -> Tensor'),
        (fill_words, '(*, SymInt? N=None, SymInt? word=None, str keywords="", Device? device=None) -> Tensor'),
        (sum_and_difference, '(Tensor A, Tensor B, *, str keywords="") -> (Tensor, Tensor)'),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_schema_is_made_of_the_declaration(kernel, schema):
    assert str(operators.operator_of(kernel).default._schema).partition("(")[2] == schema[1:]


def test_the_overload_for_out_writes_and_returns_nothing():
    schema = str(operators.operator_of(sum_and_difference).into._schema)
    assert schema.endswith('.out(Tensor A, Tensor B, Tensor(a2!) C, Tensor(a3!) D, *, str keywords="") -> ()')


def test_one_kernel_has_one_operator_and_each_of_its_like_another():
    first, second = build_double(64), build_double(64)
    assert operators.operator_of(first) is operators.operator_of(first)
    assert operators.operator_of(first).name != operators.operator_of(second).name


def test_numbers_change_from_call_to_call_and_the_kernel_is_traced_once():
    x = numbers(2, 32)
    before = len(power._traced)
    for alpha in (2.0, 3, 0.5):
        assert torch.equal(power(x, alpha=alpha), x * alpha)
    assert len(power._traced) - before <= 1
    assert torch.equal(power(x, alpha=2.0, times=3), x * 8)
    assert torch.equal(power(x, alpha=2.0), x * 2), "template values must not persist after a call"


def test_a_persistent_kernel_has_the_blocks_of_the_simulated_device():
    """A persistent kernel has two CTAs for each of 132 SMs."""
    for size in (100, 1000):
        assert blocks(torch.ones(size, dtype=torch.int32)).tolist() == [min(size, 264)] * size


def test_words_of_64_bits_keep_all_their_bits():
    for word in (0, 2**63 - 1, 2**63, 2**64 - 1):
        assert fill_words(N=32, word=word, device="cpu").tolist() == [word] * 32


def test_a_kernel_without_outputs_writes_to_its_inputs_and_returns_none():
    x = torch.ones(32)
    assert scale_(x, alpha=4.0) is None
    assert torch.equal(x, torch.full((32,), 4.0))


def test_a_kernel_writes_to_the_inputs_that_it_names_and_to_no_other():
    x, total = numbers(32), torch.ones(32)
    before = accumulate(x, total)
    assert torch.equal(before, torch.ones(32))
    assert torch.equal(total, 1 + x)
    assert torch.equal(x, numbers(32))


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "cpu:0"], ids=str)
def test_a_kernel_without_inputs_runs_on_the_device_of_the_call(device):
    y = fill(N=64, alpha=1.5, device=device)
    assert torch.equal(y, torch.full((64,), 1.5))
    assert fill(N=64, alpha=1.5, device="meta").is_meta


def test_out_is_written_to_and_returned():
    x, y = numbers(2, 32), torch.empty(2, 32)
    assert power(x, alpha=2.0, out=y) is y
    assert torch.equal(y, 2 * x)
    assert fill(alpha=1.0, N=32, out=torch.empty(32)).sum() == 32
    c, d = torch.empty(32), torch.empty(32)
    given = sum_and_difference(numbers(32), torch.ones(32), out=[c, d])
    assert given == (c, d)
    assert torch.equal(c - d, torch.full((32,), 2.0))


def test_several_outputs_come_as_a_tuple():
    total, difference = sum_and_difference(numbers(32), torch.ones(32))
    assert torch.equal(total, numbers(32) + 1)
    assert torch.equal(difference, numbers(32) - 1)


def test_columns_stay_columns():
    x = numbers(8, 4).T
    y = double_columns(x)
    assert y.stride() == (1, 4)
    assert torch.equal(y, 2 * x)
    out = torch.empty(8, 4).T
    assert double_columns(x, out=out) is out


def test_another_dtype_after_a_call_is_another_kernel_or_an_error_and_never_the_cached_one():
    x = numbers(32)
    assert torch.equal(double(x), 2 * x)
    with pytest.raises(TypeError, match="X has dtype s32"):
        double(x.int())
    assert torch.equal(whole_double(x.int()), 2 * x.int())
    assert torch.equal(double(x), 2 * x)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad], ids=lambda c: c.__name__)
def test_grad_modes_do_not_matter_to_a_kernel(context):
    with context():
        assert torch.equal(double(numbers(32)), 2 * numbers(32))
        x = torch.ones(32)
        scale_(x, alpha=2.0)
        assert x.sum() == 64


def test_tensors_of_inference_mode_are_written_to_outside_of_it_too():
    with torch.inference_mode():
        x = torch.ones(32)
    with torch.no_grad():
        scale_(x, alpha=2.0)
    assert x.sum() == 64


def test_autocast_leaves_kernels_alone():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = double(numbers(32))
    assert y.dtype == torch.float32


def test_parameters_and_subclasses_of_tensor_are_tensors():
    class Named(torch.Tensor):
        pass

    x = torch.nn.Parameter(numbers(32), requires_grad=False)
    assert torch.equal(double(x), 2 * x)
    y = double(numbers(32).as_subclass(Named))
    assert isinstance(y, Named)
    assert torch.equal(y.as_subclass(torch.Tensor), 2 * numbers(32))


def test_a_write_counts_a_version_so_that_autograd_notices():
    weight = torch.ones(32, requires_grad=True)
    saved = torch.ones(32)
    loss = (weight * saved).sum()
    scale_(saved, alpha=2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    loss = (weight * saved).sum()
    double(numbers(32), out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_many_threads_may_call_one_kernel():
    kernel, wrong = build_double(64), []

    def work(seed):
        x = torch.full((64,), float(seed))
        wrong.extend(seed for _ in range(5) if not torch.equal(kernel(x), 2 * x))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_first_call_on_the_cpu_warns_and_points_at_the_caller(monkeypatch):
    kernel = build_double(32)
    monkeypatch.setenv("PYPTX_CPU", "warn")
    with pytest.warns(SimulatedExecution, match="double runs on the simulator") as seen:
        kernel(numbers(32))
    assert seen[0].filename == __file__
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(numbers(32))
    monkeypatch.setenv("PYPTX_CPU", "error")
    with pytest.raises(Exception, match="move the tensors to the GPU"):
        kernel(numbers(32))


def test_small_launches_are_checked_and_warn_of_what_is_found(monkeypatch):
    monkeypatch.setenv("PYPTX_CHECKS", "auto")
    kernel, x = build_double(40), numbers(40)  # 40 // 32 = 1 CTA leaves 8 of 40 elements unwritten
    for call in (kernel, torch.compile(kernel, fullgraph=True, backend="eager")):
        with pytest.warns(UserWarning, match=r"unwritten-output\]: 8 of 40 elements"):
            call(x)
    kernel(x, out=torch.zeros(40))  # no error: with `out=`, a kernel may write a part of `out`
    monkeypatch.setenv("PYPTX_CHECKS", "off")
    kernel(x)


def test_without_the_simulator_a_cpu_tensor_is_an_error_that_names_its_package(monkeypatch):
    plugins = manager()
    rows = tuple(row for row in plugins.runtimes() if row.name != "sim")
    with monkeypatch.context() as without:
        without.setattr(type(plugins), "runtimes", lambda self: rows)
        with pytest.raises(RuntimeMissingError, match=r"pip install .*\[sim\]"):
            double(numbers(32))
    assert torch.equal(double(numbers(32)), 2 * numbers(32))


def test_bits_come_from_and_go_to_elements_of_any_type_of_their_width():
    x = numbers(32)
    assert torch.equal(copy_bits(x).view(torch.float32), x)
    assert torch.equal(copy_bits(x, out=torch.empty(32)), x)
    with pytest.raises(TypeError, match="out= for Y has dtype"):
        copy_bits(x, out=torch.empty(32, dtype=torch.float64))
    with torch.device("meta"):
        assert copy_bits(torch.empty(32), out=torch.empty(32)).is_meta
