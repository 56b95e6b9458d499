"""Kernels in graphs: torch.compile, torch.export, make_fx, fake and meta tensors, opcheck."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from pyptx_torch import operators

from .kernels import (
    accumulate,
    build_double,
    double,
    double_columns,
    fill,
    power,
    scale_,
    sum_and_difference,
    whole_double,
)

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
BACKENDS = ["eager", "aot_eager", "inductor"]


def numbers(*shape):
    return torch.arange(1.0, 1.0 + torch.Size(shape).numel()).reshape(shape)


def in_a_fresh_process(source, **environment):
    """Run a program that can import this folder's `kernels`; return its output."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(source)],
        env={**os.environ, "PYTHONPATH": path, "PYPTX_CPU": "quiet", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


MODEL = """
    import torch
    import kernels, pyptx_torch

    for kernel in (kernels.scale_, kernels.double, kernels.sum_and_difference, kernels.power):
        pyptx_torch.register(kernel)

    class Model(torch.nn.Module):
        def forward(self, x):
            written = torch.ones_like(x)
            kernels.scale_(written, alpha=2.0)
            total, difference = kernels.sum_and_difference(kernels.double(x), written)
            return total + difference + kernels.power(x.view(1, -1), alpha=3.0, times=2)[0]

    x = torch.arange(64.0)
"""


@pytest.fixture(scope="module")
def first_process(tmp_path_factory):
    """Compile kernels without an earlier call, with every backend, then export a model, in a subprocess."""
    file = tmp_path_factory.mktemp("exported") / "model.pt2"
    printed = in_a_fresh_process(
        f"""{MODEL}
    for backend in {BACKENDS}:
        kernel = kernels.build_double()
        compiled = torch.compile(lambda x: kernel(x + 1) * 3, fullgraph=True, backend=backend)
        print(backend, torch.equal(compiled(x), (x + 1) * 6))
    print("itself", torch.equal(torch.compile(kernel, fullgraph=True)(x), x * 2))
    torch.export.save(torch.export.export(Model(), (x,)), {str(file)!r})
    try:
        kernels.fill(N=32, alpha=1.0, device="cuda")
    except RuntimeError as error:
        print(type(error).__name__, "fill cannot be launched: no CUDA driver" in str(error))
    """,
        PYPTX_LIBCUDA="no-such-driver.so",
    )
    return printed, file


@pytest.mark.long
def test_a_kernel_that_was_never_called_compiles_in_a_fresh_process_with_every_backend(first_process):
    assert first_process[0].splitlines()[:4] == ["eager True", "aot_eager True", "inductor True", "itself True"]


def test_a_launch_without_a_driver_is_an_error_that_says_so(first_process):
    assert first_process[0].splitlines()[4:] == ["DriverMissingError True"]


@pytest.mark.long
def test_an_exported_program_is_loaded_where_only_the_kernels_are_imported(first_process):
    program = (
        f"{MODEL}\n    print(torch.equal(torch.export.load({str(first_process[1])!r}).module()(x), 4 * x + 9 * x))"
    )
    assert in_a_fresh_process(program) == "True"


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.long
def test_every_kind_of_call_compiles(backend):
    @torch.compile(fullgraph=True, backend=backend)
    def function(x, alpha):
        out = torch.empty_like(x)
        double(x, out=out)
        written = x + 0
        scale_(written, alpha=alpha)
        before = accumulate(x, written)
        total, difference = sum_and_difference(out, before)
        rows = power(x.view(2, -1), alpha=alpha, times=2)
        other = power(x.view(2, -1), alpha=1.0, times=3)
        made = fill(N=x.shape[0], alpha=1.0, device="cpu")
        return out, written, total, difference, rows, other, made, double_columns(rows.T)

    x = numbers(64)
    found = function(x, 2.0)
    for one, wanted in zip(
        found, (2 * x, 3 * x, 4 * x, 0 * x, 4 * x, x, torch.ones(64), 8 * x.view(2, -1).T), strict=True
    ):
        assert torch.equal(one.reshape(wanted.shape), wanted)
    assert found[-1].stride() == (1, 32)


def test_another_size_compiles_once_more_and_then_never():
    counter = CompileCounter()
    compiled = torch.compile(lambda x: double(x) + 1, fullgraph=True, backend=counter)
    for blocks in (1, 2, 3, 7):
        assert torch.equal(compiled(numbers(32 * blocks)), 2 * numbers(32 * blocks) + 1)
    assert counter.frame_count == 2  # compiled graphs: one for the first size, one for any size
    counter = CompileCounter()
    compiled = torch.compile(lambda x: double(x) + 1, fullgraph=True, backend=counter, dynamic=True)
    for blocks in (1, 2, 3, 7):
        compiled(numbers(32 * blocks))
    assert counter.frame_count == 1


def test_a_size_that_the_kernel_fixes_is_a_guard():
    counter = CompileCounter()
    kernel = build_double(64)
    compiled = torch.compile(lambda x: kernel(x[:64]), fullgraph=True, backend=counter, dynamic=True)
    for size in (64, 96, 128):
        compiled(numbers(size))
    assert counter.frame_count <= 2


def test_numbers_change_without_compiling_again():
    counter = CompileCounter()
    compiled = torch.compile(lambda x, alpha: power(x, alpha=alpha), fullgraph=True, backend=counter)
    x = numbers(2, 32)
    for alpha in (2.0, 3.0, 4.0, 5.0):
        assert torch.equal(compiled(x, alpha), alpha * x)
    assert counter.frame_count <= 2
    counter = CompileCounter()
    compiled = torch.compile(lambda n: fill(N=n, alpha=1.0, device="cpu"), fullgraph=True, backend=counter)
    for blocks in range(1, 6):
        assert compiled(32 * blocks).sum() == 32 * blocks
    assert counter.frame_count <= 2


@pytest.mark.parametrize("dynamic", [None, True])
def test_template_values_that_are_arguments_compile_once_for_each_value(dynamic):
    counter = CompileCounter()
    compiled = torch.compile(
        lambda x, times, alpha: power(x, alpha=alpha, times=times), fullgraph=True, backend=counter, dynamic=dynamic
    )
    x = numbers(2, 32)
    for times in (2, 3, 2, 3, 4, 2):
        for alpha in (2.0, 3.0, 0.5):
            assert torch.equal(compiled(x, times, alpha), x * alpha**times)
    assert counter.frame_count <= 3 + 1  # + 1: torch treats a number as a constant first, then as a symbol


def test_a_template_value_may_be_computed_from_a_size():
    x = numbers(2, 32)
    compiled = torch.compile(lambda x: power(x, alpha=2.0, times=x.shape[0]), fullgraph=True, dynamic=True)
    assert torch.equal(compiled(x), 4 * x)
    traced = make_fx(lambda x: power(x, alpha=2.0, times=x.shape[0]), tracing_mode="symbolic")(x)
    assert torch.equal(traced(x), 4 * x)
    assert "times=2" in traced.code


def test_a_size_that_is_known_only_at_run_time_is_no_obstacle():
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(lambda x: double(x[x > 0]), fullgraph=True, backend="aot_eager")
        x = numbers(96) - 32.5
        assert torch.equal(compiled(x), 2 * x[x > 0])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: double(x.double()), "X holds f64"),
        (lambda x: double(x.view(2, 32)), "X has 2 dimensions"),
        (lambda x: double(x[::2]), "X has strides"),
        (lambda x: double(x, beta=1), "'beta'"),
        (lambda x: double(x, x), "takes 1 tensors"),
        (lambda x: double(x, out=(x, x)), "out= has 2 tensors"),
        (lambda x: power(x.view(2, 32)), "missing raw parameter 'alpha'"),
        (lambda x: sum_and_difference(x, x[:32]), "N is 64 in A"),
    ],
)
def test_a_wrong_call_is_its_own_error_while_compiling(function, words):
    with pytest.raises(Exception, match=words):
        torch.compile(function, fullgraph=True, backend="eager")(numbers(64))
    assert torch.equal(torch.compile(double, fullgraph=True, backend="eager")(numbers(64)), 2 * numbers(64))


def calls():
    """Return operators and arguments for opcheck: no, one, several or preallocated outputs, with or without inputs."""
    of = operators.operator_of
    x = numbers(64)
    return [
        ("one output", of(double).default, (x,), {}),
        ("given output", of(double).into, (x, torch.empty(64)), {}),
        ("no output", of(scale_).default, (x.clone(),), {"alpha": 2.0}),
        ("written input", of(accumulate).default, (x, x.clone()), {}),
        ("no input", of(fill).default, (), {"N": 64, "alpha": 2.0, "device": torch.device("cpu")}),
        ("several outputs", of(sum_and_difference).default, (x, x + 1), {}),
        ("several given outputs", of(sum_and_difference).into, (x, x, x.clone(), x.clone()), {}),
        ("keywords", of(power).default, (x.view(2, 32),), {"alpha": 2.0, "keywords": "times=2, dtype=f32"}),
        ("columns", of(double_columns).default, (x.view(2, 32).T,), {}),
        ("integers", of(whole_double).default, (x.int(),), {}),
    ]


@pytest.mark.parametrize("name", [row[0] for row in calls()])
def test_opcheck_finds_nothing_wrong(name):
    overload, arguments, keywords = next(row[1:] for row in calls() if row[0] == name)
    found = torch.library.opcheck(overload, arguments, keywords)
    assert set(found.values()) == {"SUCCESS"}
    assert len(found) >= 4


class Model(torch.nn.Module):
    def forward(self, x):
        written = torch.ones_like(x)
        scale_(written, alpha=2.0)
        total, difference = sum_and_difference(double(x), written)
        return total + difference + power(x.view(1, -1), alpha=3.0, times=2)[0]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.long
def test_a_model_with_kernels_is_exported_and_any_size_runs(strict):
    x = numbers(64)
    size = torch.export.Dim("size", min=32, max=4096)
    program = torch.export.export(Model(), (x,), dynamic_shapes=({0: size},), strict=strict)
    named = [str(node.target) for node in program.graph.nodes if "pyptx" in str(node.target)]
    assert named == [
        f"pyptx.{operators.operator_of(kernel).name}.default" for kernel in (scale_, double, sum_and_difference, power)
    ]
    y = numbers(128)
    assert torch.equal(program.module()(y), Model()(y))
    assert torch.equal(program.run_decompositions().module()(y), Model()(y))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_sees_the_operators(mode):
    x = numbers(64)
    traced = make_fx(lambda x: double(x) + power(x.view(2, 32), alpha=2.0).sum(), tracing_mode=mode)(x)
    assert sum("pyptx" in str(node.target) for node in traced.graph.nodes) == 2
    assert torch.equal(traced(x), 2 * x + 2 * x.sum())


def test_fake_and_meta_tensors_have_shapes_and_nothing_runs_or_is_traced():
    kernel = build_double()
    with FakeTensorMode():
        y = kernel(torch.empty(96, device="cuda"))
        assert (y.shape, y.device.type) == ((96,), "cuda")
        assert fill(N=32, alpha=1.0, device="cuda").device.type == "cuda"
        columns = double_columns(torch.empty(8, 4).T)
        assert columns.stride() == (1, 4)
    y = kernel(torch.empty(64, device="meta"), out=torch.empty(64, device="meta"))
    assert y.is_meta
    assert kernel(torch.empty(64, device="meta")).is_meta
    assert not kernel._traced


def test_template_values_without_a_literal_pass_too():
    from pyptx_dsl import ptx
    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.kernels.decorator import kernel
    from pyptx_dsl.types import f32

    from .kernels import LANES, index, load, store

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // LANES, block=LANES)
    def apply(X, Y, *, function, twice=(False, {"a": 1})):
        px, py = ptx.global_ptrs(X, Y)
        assert twice is not None
        store(py, index(), function(load(px, index(), f32)), f32)
        ptx.ret()

    x = numbers(32)
    plus_one = functools.partial(lambda step, value: value + step, 1.0)
    assert torch.equal(apply(x, function=plus_one), x + 1)
    assert torch.equal(apply(x, function=plus_one, twice=(True, float("inf"), -1, [None, "x"])), x + 1)
    compiled = torch.compile(lambda x: apply(x, function=plus_one), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), x + 1)
