"""Scalars among the positional arguments of a kernel: `Scalar(f32)` in `in_specs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pyptx
from pyptx import Scalar, Tile, kernel, ptx, reg
from pyptx.bundles import export
from pyptx.types import bf16, f32, pred, u8, u32
from pyptx_dsl.errors import ArgumentCountError, KeywordError, SignatureError, SpecError

if TYPE_CHECKING:
    from pathlib import Path

QUOTED: Any = "f32"
X, Y = np.arange(128, dtype=np.float32), np.ones(128, np.float32)


@kernel(
    in_specs=(Tile("N", f32), Scalar(f32), Tile("N", f32), Scalar(u32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: -(-N // 128),
    block=128,
    arch="sm_80",
)
def saxpy(X: Any, alpha: Any, Y: Any, count: Any, Z: Any) -> None:
    """Z = alpha * X + Y for the first `count` elements, and Z = Y for all other elements."""
    px, py, pz = ptx.global_ptrs(X, Y, Z)
    i = ptx.global_id()
    x, y = reg.array(f32, 2)
    ptx.ld(f32, x, ptx.addr(px + i * 4))
    ptx.ld(f32, y, ptx.addr(py + i * 4))
    with ptx.if_(i < count):
        ptx.fma(f32, y, x, alpha, y, rounding="rn")
    ptx.st(f32, ptx.addr(pz + i * 4), y)
    ptx.ret()


def expected(alpha: float, count: int) -> np.ndarray[Any, Any]:
    return np.where(np.arange(128) < count, np.float32(alpha) * X + Y, Y)


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((X, 2.5, Y, 100), {}),
        ((X, Y, 100), {"alpha": 2.5}),
        ((X, 2.5, Y), {"count": 100}),
        ((X, Y), {"alpha": 2.5, "count": 100}),
    ],
    ids=["by position", "the first scalar argument by name", "the second scalar argument by name", "by name"],
)
def test_a_number_is_passed_by_position_or_by_name(arguments: Any, keywords: Any) -> None:
    np.testing.assert_array_equal(saxpy(*arguments, **keywords), expected(2.5, 100))
    result = saxpy.simulate(*arguments, **keywords)
    assert result.findings == ()
    np.testing.assert_array_equal(result.outputs[0], expected(2.5, 100))


def test_another_number_needs_no_new_trace() -> None:
    text = saxpy.ptx(N=128)
    assert ".param .f32 alpha" in text
    assert ".param .u32 count" in text
    before = dict(saxpy._traced)
    for alpha in (1.0, 3.0):
        np.testing.assert_array_equal(saxpy(X, alpha, Y, 128), expected(alpha, 128))
    assert {key: saxpy._traced[key] for key in before} == before
    assert len(saxpy._traced) == len(before)


@pytest.mark.torch
@pytest.mark.long
def test_torch_compiles_a_number_as_an_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("PYPTX_CPU", "quiet")
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    torch.testing.assert_close(saxpy(x, 2.0, y, 64), torch.from_numpy(expected(2.0, 64)))
    compiled = torch.compile(
        lambda x, alpha, y, count: saxpy(x, alpha, y, count) * 2, fullgraph=True, backend="aot_eager"
    )
    for alpha, count in ((2.0, 64), (0.5, 3)):
        torch.testing.assert_close(compiled(x, alpha, y, count), torch.from_numpy(2 * expected(alpha, count)))


@pytest.mark.ptxas
def test_a_kernel_out_of_a_bundle_takes_its_numbers_by_position_too(tmp_path: Path) -> None:
    loaded = pyptx.load(export(saxpy, [{"N": 128}], tmp_path / "open"))["saxpy"]
    for arguments, keywords in (((X, 2.5, Y, 100), {}), ((X, Y, 100), {"alpha": 2.5}), ((X, 2.5, Y), {"count": 100})):
        np.testing.assert_array_equal(loaded(*arguments, **keywords), expected(2.5, 100))
    with pytest.raises(ArgumentCountError, match=r"alpha: Scalar\(f32\)"):
        loaded(X, Y, 3)
    fixed = pyptx.load(export(saxpy, [{"N": 128, "alpha": 2.5}], tmp_path / "fixed"))["saxpy"]
    np.testing.assert_array_equal(fixed(X, Y, 100), expected(2.5, 100))
    with pytest.raises(ArgumentCountError, match="expected 3 arguments"):
        fixed(X, 2.5, Y, 100)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: saxpy(X, Y, 3), ArgumentCountError, "alpha: Scalar(f32)"),
        (lambda: saxpy(X, 2.0, Y, 3, 4), ArgumentCountError, "4 arguments"),
        (lambda: saxpy(X, Y, alpha=2.0), ArgumentCountError, "count: Scalar(u32)"),
        (lambda: saxpy(X, "2", Y, 3), KeywordError, "declared f32"),
        (lambda: saxpy(X, 2.0, Y, -1), KeywordError, "declared u32"),
        (lambda: Scalar(QUOTED), SpecError, "Scalar(f32)"),
        (lambda: Scalar(bf16), SpecError, "Scalar(b16)"),
        (lambda: Scalar(pred), SpecError, "Scalar(u32)"),
    ],
)
def test_what_does_not_fit_is_told(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value)


def test_a_parameter_without_a_spec_is_told_of_scalars() -> None:
    with pytest.raises(SignatureError, match=r"Scalar\(f32\) in in_specs"):

        @kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), grid=1, block=128)
        def scaled(X: Any, alpha: Any, Y: Any) -> None:
            ptx.global_ptrs(X, Y)
            alpha + 1.0


def test_a_kernel_may_take_numbers_alone() -> None:
    @kernel(in_specs=Scalar(u8), out_specs=(Tile(32, u32),), grid=1, block=32, arch="sm_80")
    def filled(value: Any, Y: Any) -> None:
        (py,) = ptx.global_ptrs(Y)
        wide = reg.scalar(u32)
        ptx.inst.cvt.u32.u8(wide, value)
        ptx.st(u32, ptx.addr(py + ptx.special.tid.x() * 4), wide)
        ptx.ret()

    assert filled.simulate(7).outputs[0].tolist() == [7] * 32
