"""Each wrong call raises one clear error at the caller's line, and the next correct call works."""

from __future__ import annotations

import pytest
import torch

from pyptx_dsl import ptx
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import (
    AlignmentError,
    ArgumentCountError,
    DeviceError,
    DtypeError,
    ForeignArrayError,
    KeywordError,
    LayoutError,
    RankError,
    RuntimeMissingError,
    ShapeError,
    UnboundDimensionsError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32
from pyptx_torch import errors

from .kernels import (
    accumulate,
    double,
    double_columns,
    fill,
    fill_words,
    index,
    load,
    power,
    scale_,
    store,
    sum_and_difference,
)

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*quantize:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*quantize:DeprecationWarning"),
]

X = torch.ones(32)
PLANE = torch.ones(2, 32)


def quantized():
    return torch.quantize_per_tensor(X, 0.1, 0, torch.quint8)


def freed(offset=0):
    """Return a tensor, or a view at an offset, with freed storage, like FSDP's freed parameters."""
    tensor = torch.ones(32 + offset)[offset:]
    tensor.untyped_storage().resize_(0)
    return tensor


CASES = [
    ("rank", lambda: double(PLANE), RankError, "X has 2 dimensions"),
    ("no dimension", lambda: double(torch.tensor(1.0)), RankError, "X has 0 dimensions"),
    ("dtype", lambda: double(X.double()), DtypeError, "X holds f64"),
    ("complex", lambda: double(X.to(torch.complex64)), DtypeError, "X has dtype complex64, which has no PTX type"),
    ("strides", lambda: double(torch.ones(64)[::2]), LayoutError, "X has strides"),
    ("expanded", lambda: double(torch.ones(1).expand(32)), LayoutError, "X has strides"),
    ("rows for columns", lambda: double_columns(torch.ones(4, 8)), LayoutError, "dense by columns"),
    ("sizes", lambda: sum_and_difference(X, torch.ones(64)), ShapeError, "N is 32 in A"),
    ("count", lambda: double(X, X), ArgumentCountError, "takes 1 tensors"),
    ("missing", lambda: sum_and_difference(X), ArgumentCountError, "B missing"),
    ("devices", lambda: sum_and_difference(X, X.to("meta")), DeviceError, "A is on cpu, and B on meta"),
    ("sparse", lambda: double(X.to_sparse()), LayoutError, "to_dense"),
    ("quantized", lambda: double(quantized()), LayoutError, "quantized"),
    ("negation", lambda: double(torch._neg_view(X)), LayoutError, "resolve_neg"),
    ("negation of a written tensor", lambda: scale_(torch._neg_view(X), alpha=1.0), LayoutError, "then copy_ it"),
    ("out negation", lambda: double(X, out=torch._neg_view(X)), LayoutError, "out= for Y is pending"),
    ("freed", lambda: double(freed()), LayoutError, "X has no memory"),
    ("freed view", lambda: double(freed(32)), LayoutError, "X has no memory"),
    ("freed and written", lambda: scale_(freed(), alpha=1.0), LayoutError, "X has no memory"),
    ("out freed", lambda: double(X, out=freed()), LayoutError, "out= for Y has no memory"),
    ("number for a tensor", lambda: sum_and_difference(X, 1.0), ForeignArrayError, "is of type float"),
    ("tensor for a number", lambda: power(PLANE, alpha=torch.ones(3)), KeywordError, "alpha must be a number"),
    ("word for a number", lambda: power(PLANE, alpha="two"), KeywordError, "alpha='two'"),
    ("missing number", lambda: power(PLANE), KeywordError, "missing raw parameter 'alpha'"),
    ("too large a number", lambda: fill_words(N=32, word=2**64, device="cpu"), KeywordError, "declared u64"),
    ("negative word", lambda: fill_words(N=32, word=-1, device="cpu"), KeywordError, "declared u64"),
    ("unknown keyword", lambda: double(X, beta=1), KeywordError, "'beta'"),
    ("device= with tensors", lambda: double(X, device="cpu"), KeywordError, "'device'"),
    ("no such device", lambda: fill(N=32, alpha=1.0, device="gpu"), DeviceError, "invalid torch device"),
    ("other device", lambda: fill(N=32, alpha=1.0, device="mps"), DeviceError, "which cannot run PTX kernels"),
    ("unbound size", lambda: fill(alpha=1.0, device="cpu"), UnboundDimensionsError, "no size for N"),
    ("size below zero", lambda: fill(N=-1, alpha=1.0, device="cpu"), KeywordError, "N=-1"),
    ("out count", lambda: double(X, out=(X, X)), ArgumentCountError, "out= has 2"),
    ("out of a kernel without", lambda: scale_(X.clone(), alpha=1.0, out=X), ArgumentCountError, "has 0 outputs"),
    ("out shape", lambda: double(X, out=torch.empty(64)), ShapeError, "out= for Y has shape"),
    ("out dtype", lambda: double(X, out=torch.empty(32).int()), DtypeError, "out= for Y has dtype torch.int32"),
    ("out device", lambda: double(X, out=torch.empty(32, device="meta")), DeviceError, "out= for Y is on meta"),
    ("out strides", lambda: double(X, out=torch.empty(64)[::2]), LayoutError, "out= for Y has strides"),
    ("out is a list of numbers", lambda: double(X, out=1.0), ForeignArrayError, "out= for Y is of type float"),
    ("outs overlap", lambda: sum_and_difference(X, X, out=(PLANE[0], PLANE[0])), LayoutError, "overlap in memory"),
    (
        "gradient of a mutated tensor",
        lambda: scale_(torch.ones(32, requires_grad=True), alpha=1.0),
        errors.GradientError,
        "would be lost",
    ),
    (
        "gradient of an input of a mutating kernel",
        lambda: accumulate(torch.ones(32, requires_grad=True), X.clone()),
        errors.GradientError,
        "would be lost",
    ),
    (
        "gradient into out",
        lambda: double(torch.ones(32, requires_grad=True), out=torch.empty(32)),
        errors.GradientError,
        "would be lost",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_a_wrong_call_is_an_error_at_its_line_and_the_next_good_one_works(call, kind, words):
    with pytest.raises(kind, match=words) as raised:
        call()
    assert "test_bad_inputs.py:" in raised.value.where
    assert str(raised.value).count("\nhelp:") <= 1
    assert torch.equal(double(X), 2 * X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: torch.fx.symbolic_trace(lambda x: double(x)),  # noqa: PLW0108 - it wants a name
            r"help: torch\.fx\.symbolic_trace does not pass tensors",
        ),
        (lambda: double(torch.nn.Linear(1, 1)), "help: pass NumPy arrays, torch tensors or jax arrays"),
    ],
    ids=["symbolic_trace", "module"],
)
def test_what_is_no_tensor_is_not_taken_for_a_missing_package(call, words):
    with pytest.raises(RuntimeMissingError, match=words) as raised:
        call()
    assert "pip install" not in str(raised.value)


def test_there_are_more_than_twenty_kinds_of_wrong_calls():
    assert len(CASES) > 30


def test_a_tile_may_ask_for_more_alignment_than_its_elements_have():
    @kernel(in_specs=(Tile(32, f32, align=16),), out_specs=(Tile(32, f32, align=16),), grid=1, block=32)
    def copied(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        store(py, index(), load(px, index(), f32), f32)
        ptx.ret()

    aligned = torch.arange(40.0)
    assert torch.equal(copied(aligned[4:36]), aligned[4:36])
    with pytest.raises(AlignmentError, match="not a multiple of 16 bytes"):
        copied(aligned[3:35])
    with pytest.raises(AlignmentError, match=r"out= for Y .* not a multiple of 16 bytes"):
        copied(aligned[4:36], out=torch.empty(40)[3:35])


def test_misaligned_storage_is_an_error():
    odd = torch.frombuffer(bytearray(4 * 33), dtype=torch.float32, offset=1, count=32)
    with pytest.raises(AlignmentError, match="multiple of 4"):
        double(odd)
    with pytest.raises(AlignmentError, match="out= for Y"):
        double(X, out=odd)
    assert torch.equal(double(X), 2 * X)
