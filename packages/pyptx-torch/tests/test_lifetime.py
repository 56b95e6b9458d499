"""Kernels and their operators are freed when they can no longer be called, and not earlier."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest
import torch

from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.differentiable import differentiable_kernel
from pyptx_dsl.types import f32
from pyptx_torch import namespace, operators

from .kernels import build_double, build_product, double, power

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - a fixed path
        return int(file.read().split()[1]) * 4096


@pytest.mark.long
def test_thousands_of_kernels_leave_nothing_behind():
    def one():
        kernel = build_double(32)
        operators.operator_of(kernel)
        return weakref.ref(kernel)

    def many(count):
        references = [one() for _ in range(count)]
        gc.collect()
        return sum(reference() is not None for reference in references)

    assert many(100) == 0
    operators_before, before = len(namespace.NAMESPACE.packets), resident()
    assert many(1000) == 0
    assert len(namespace.NAMESPACE.packets) == operators_before
    assert resident() - before < 2e6, "more than 2 KB per kernel are never freed"


def test_a_called_kernel_goes_too_and_frees_its_name():
    kernel = build_double(32)
    kernel(torch.ones(32))
    name, reference = operators.operator_of(kernel).name, weakref.ref(kernel)
    assert hasattr(torch.ops.pyptx, name)
    del kernel
    gc.collect()
    assert reference() is None
    assert not hasattr(torch.ops.pyptx, name)
    assert operators.operator_of(build_double(32)).name == name


def test_kernels_of_one_function_are_told_apart_by_the_constants_around_them():
    def digests():
        return {operators.operator_of(build_double(size)).name.split("_")[1] for size in (32, 64, "N")}

    assert len(digests()) == 3
    assert digests() == digests()


def test_what_is_not_assigned_yet_does_not_tell():
    @kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), grid=1, block=32)
    def late(X, Y):
        assert later
        double.declaration.function(X, Y)

    before = operators.operator_of(late).name
    later = True
    assert torch.equal(late(torch.ones(32)), torch.full((32,), 2.0))
    assert operators.operator_of(late).name == before


def test_a_graph_keeps_its_kernels():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = build_double(32)

        def forward(self, x):
            return self.kernel(x) + 1

    model = Model()
    program = torch.export.export(model, (torch.ones(32),))
    del model
    torch._dynamo.reset()
    gc.collect()
    assert torch.equal(program.module()(torch.ones(32)), torch.full((32,), 3.0))


def test_a_registered_kernel_stays():
    name = operators.register(kernel := build_double(32), name="double_that_stays")
    del kernel
    gc.collect()
    namespace, _, operator = name.partition("::")
    assert torch.equal(getattr(getattr(torch.ops, namespace), operator)(torch.ones(32)), torch.full((32,), 2.0))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(32))
        self.kernel = double
        self.function = differentiable_kernel(*build_product(f32))

    def forward(self, x):
        return self.function(self.kernel(x), self.weight)


def test_a_copied_module_shares_its_kernels():
    model = Model()
    model(torch.ones(32))
    other = copy.deepcopy(model)
    assert other.kernel is double
    assert other.function.forward_kernel is model.function.forward_kernel
    assert other.weight is not model.weight
    assert torch.equal(other(torch.ones(32)), model(torch.ones(32)))
    assert copy.copy(double) is double


def test_a_kernel_is_pickled_by_its_name_like_a_function():
    assert pickle.loads(pickle.dumps(power)) is power  # noqa: S301 - our own bytes
    with pytest.raises((pickle.PicklingError, AttributeError), match="double"):
        pickle.dumps(build_double(32))
