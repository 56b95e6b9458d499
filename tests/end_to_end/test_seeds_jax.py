"""The specification's jax code blocks run verbatim, on jax's default device."""

from __future__ import annotations

from typing import Any

import pytest

from .seeds import SEEDS, block

pytestmark = [
    pytest.mark.jax,
    pytest.mark.skipif(not SEEDS.is_dir(), reason="the specification's pages are not next to this checkout"),
]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")


def run(source: str, filename: str, **names: Any) -> dict[str, Any]:
    """Execute a code block of the specification in its own namespace, and return the namespace."""
    namespace: dict[str, Any] = {"__name__": "seed", **names}
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102 - the block is the specification
    return namespace


def test_the_front_pages_kernel_is_called_from_jax() -> None:
    import jax

    kernel = run(block("000", "from pyptx import kernel, reg, smem, ptx, Tile", "    ptx.ret()"), "seeds/000")
    key = jax.random.key(0)
    x, w = jax.random.normal(key, (256, 4096)), jax.random.normal(key, (4096,))
    page = block("000", "import jax", "y = fn(x, w)        # real FFI call through XLA")
    names = run(page, "seeds/000 jax", rms_norm=kernel["rms_norm"], x=x, w=w)
    assert isinstance(names["y"], jax.Array)
    assert (names["y"].shape, names["y"].dtype) == ((256, 4096), jax.numpy.float32)
    text = names["fn"].lower(x, w).as_text()
    assert text.count("custom_call @pyptx_launch") == 1
    assert "ld.global.v4.f32" in text


def test_the_kernel_pages_gemm_is_called_from_jax() -> None:
    import jax

    source = block("001", "from pyptx import kernel, Tile, Layout", "def gemm(A, B, C, *, BM=128, BN=256, BK=64): ...")
    gemm = run(source, "seeds/001")["gemm"]
    names = run(block("001", "@jax.jit", "    return gemm(x, w)"), "seeds/001 jax", jax=jax, gemm=gemm)
    x, w = jax.numpy.ones((256, 64), "bfloat16"), jax.numpy.ones((64, 512), "bfloat16")
    with pytest.warns(UserWarning, match="kernel 'gemm' emits no instruction"):
        y = names["fwd"](x, w)
    assert (y.shape, y.dtype) == ((256, 512), jax.numpy.float32)
    assert "operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[0, 1]>" in names["fwd"].lower(x, w).as_text()
