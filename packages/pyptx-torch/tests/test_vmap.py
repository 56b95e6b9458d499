"""vmap of kernels: for every batch dimension the result equals a loop of kernel calls over the batch."""

from __future__ import annotations

import pytest
import torch

from pyptx_dsl.errors import LayoutError

from .kernels import accumulate, double, double_columns, fill, power, scale_, sum_and_difference

pytestmark = pytest.mark.torch


def numbers(*shape):
    return torch.arange(1.0, 1.0 + torch.Size(shape).numel()).reshape(shape)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("out_dim", [0, 1])
def test_the_batch_may_be_any_dimension_of_input_and_output(dim, out_dim):
    rows = numbers(3, 32)
    x = rows.movedim(0, dim)
    y = torch.vmap(double, in_dims=dim, out_dims=out_dim)(x)
    assert torch.equal(y, (2 * rows).movedim(0, out_dim))


def test_inputs_without_the_batch_are_the_same_in_every_example():
    rows, one = numbers(3, 32), torch.ones(32)
    total, difference = torch.vmap(sum_and_difference, in_dims=(0, None))(rows, one)
    assert torch.equal(total, rows + 1)
    assert torch.equal(difference, rows - 1)
    total, _ = torch.vmap(sum_and_difference, in_dims=(None, 1))(one, rows.T)
    assert torch.equal(total, rows + 1)


def test_vmaps_nest():
    x = numbers(2, 3, 32)
    assert torch.equal(torch.vmap(torch.vmap(double))(x), 2 * x)
    assert torch.equal(torch.vmap(torch.vmap(double, in_dims=1), in_dims=2)(x.permute(2, 1, 0)), (2 * x))


def test_keywords_pass_through():
    x = numbers(3, 2, 32)
    assert torch.equal(torch.vmap(lambda x: power(x, alpha=2.0, times=2))(x), 4 * x)


def test_a_call_without_batched_inputs_is_made_once():
    assert torch.vmap(lambda x: x + fill(N=32, alpha=1.0, device="cpu"))(torch.zeros(3, 32)).sum() == 96
    assert torch.vmap(lambda x: x + double(torch.ones(32)))(torch.zeros(3, 32)).sum() == 192


def test_columns_are_made_dense_for_each_example():
    x = numbers(3, 4, 8)
    assert torch.equal(torch.vmap(double_columns)(x), 2 * x)


def test_what_a_kernel_writes_to_is_written_in_every_example():
    x = numbers(32, 3)
    expected = 2 * x
    torch.vmap(lambda x: (scale_(x, alpha=2.0), x)[1], in_dims=1, out_dims=1)(x)
    assert torch.equal(x, expected)
    out = torch.empty(3, 32)
    given = torch.vmap(lambda x, out: double(x, out=out))(numbers(3, 32), out)
    assert torch.equal(given, out)
    assert torch.equal(out, 2 * numbers(3, 32))


def test_one_tensor_cannot_take_the_results_of_all_examples():
    total = torch.zeros(32)
    with pytest.raises(LayoutError, match="Total, which has no batch dimension"):
        torch.vmap(lambda x: accumulate(x, total))(numbers(3, 32))
    assert total.sum() == 0


@pytest.mark.parametrize(("shape", "dim"), [((0, 32), 0), ((32, 0), 1)])
def test_a_batch_of_no_examples_has_no_results(shape, dim):
    made = torch.vmap(double, in_dims=dim)(torch.empty(shape))
    assert (made.shape, made.dtype) == ((0, 32), torch.float32)
    assert torch.vmap(lambda x: (scale_(x, alpha=2.0), x)[1], in_dims=dim)(torch.empty(shape)).shape == (0, 32)


def test_vmap_compiles():
    torch._dynamo.reset()
    x = numbers(3, 32)
    assert torch.equal(torch.compile(torch.vmap(double), backend="aot_eager", fullgraph=True)(x), 2 * x)
