"""`block=` may be a function of dimensions and template values, like `grid=`."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import Tile, bundles, kernel, ptx, reg
from pyptx.types import u32
from pyptx_dsl.errors import LaunchError, SignatureError


def threads(block: Any, **options: Any) -> Any:
    """Return a kernel whose threads each store the number of threads of their CTA."""

    @kernel(out_specs=(Tile("N", u32),), block=block, arch="sm_80", **{"grid": 1, **options})
    def counted(Y: Any, *, wide: int = 1) -> None:
        del wide
        (py,) = ptx.global_ptrs(Y)
        ptx.st(u32, ptx.addr(py + ptx.special.tid.x() * 4), reg.from_(ptx.special.ntid.x(), u32))
        ptx.ret()

    return counted


@pytest.mark.parametrize(
    "block",
    [lambda N: N, lambda size: size, lambda *sizes: sizes[0], lambda N, wide: (N * wide,), lambda N: [N, 1, 1]],
    ids=["by name", "the only dimension", "all sizes", "a template value", "a list"],
)
def test_a_block_has_as_many_threads_as_its_function_says(block: Any) -> None:
    counted = threads(block)
    for size in (32, 96):
        result = counted.simulate(N=size)
        assert result.findings == ()
        assert result.outputs[0].tolist() == [size] * size
    assert callable(counted.block)


def test_what_a_function_returns_is_checked_in_the_call() -> None:
    with pytest.raises(LaunchError, match=r"block\.x is 2048"):
        threads(lambda N: N).simulate(N=2048)
    with pytest.raises(LaunchError, match=r"block must be one to three integers, got 16\.0"):
        threads(lambda N: N / 2).simulate(N=32)
    with pytest.raises(LaunchError, match="has a dimension smaller than 1"):
        threads(lambda N: N - 32).simulate(N=32)


def test_a_function_asks_for_what_the_kernel_has() -> None:
    with pytest.raises(SignatureError, match="the block function needs M"):
        threads(lambda M, N: M * N)
    with pytest.raises(LaunchError, match="reqntid"):
        threads(lambda N: N, reqntid=(32, 1, 1))


def test_a_call_without_blocks_runs_nothing() -> None:
    counted = threads(lambda N: N, grid=lambda N: -(-N // 32))
    assert counted.simulate(N=0).outputs[0].shape == (0,)


def test_a_bundle_has_a_block_for_each_specialization(tmp_path: Any) -> None:
    folder = bundles.export(threads(lambda N: N), [{"N": 32}, {"N": 64}], tmp_path / "bundle")
    loaded: Any = bundles.load(folder)["counted"]
    for size in (32, 64):
        assert loaded.simulate(N=size).outputs[0].tolist() == [size] * size
