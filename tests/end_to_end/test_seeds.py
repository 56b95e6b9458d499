"""The specification's code blocks run verbatim, except that cuda becomes cpu."""

from __future__ import annotations

import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

from .seeds import SEEDS, block, on_cpu

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not SEEDS.is_dir(), reason="the specification's pages are not next to this checkout"),
    pytest.mark.filterwarnings("ignore::pyptx_sim.errors.SimulatedExecution"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),  # torch.compile warns about torch's own modules
]


def run(source: str, filename: str, **names: Any) -> dict[str, Any]:
    """Execute a code block of the specification in its own namespace, and return the namespace."""
    namespace: dict[str, Any] = {"__name__": "seed", **names}
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102 - the block is the specification
    return namespace


def rms_norm_of_the_front_page() -> Any:
    source = block("000", "from pyptx import kernel, reg, smem, ptx, Tile", "    ptx.ret()")
    return run(source, "seeds/000")["rms_norm"]


def rms_norm_of_the_torch_page() -> dict[str, Any]:
    return run(on_cpu(block("004", "import torch", "out = k(x, w)")), "seeds/004")


def test_the_front_pages_kernel_traces_and_needs_its_dimensions() -> None:
    kernel = rms_norm_of_the_front_page()
    with pytest.raises(Exception, match=r"rms_norm\.ptx\(B=…, N=…\)"):
        kernel.ptx()
    text = kernel.ptx(B=256, N=4096)
    assert text.count("ld.global.v4.f32") == 8
    assert text.count("fma.rn.f32") == 32
    assert text.count("shfl.sync.bfly.b32") == 5


def test_the_front_pages_kernel_is_called_from_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_kernels")
    module.rms_norm = rms_norm_of_the_front_page()  # type: ignore[attr-defined] # the page imports it from there
    monkeypatch.setitem(sys.modules, "my_kernels", module)
    eager = run(on_cpu(block("000", "import torch", "y = rms_norm(x, w)")), "seeds/000 eager")
    assert eager["y"].shape == (256, 4096)
    assert eager["y"].dtype == torch.float32
    names = {key: eager[key] for key in ("x", "w", "rms_norm")}
    compiled = run(block("000", "import torch", "y = fn(x, w)", occurrence=1), "seeds/000 compile", **names)
    assert compiled["y"].shape == (256, 4096)


def test_the_kernel_pages_gemm_traces_with_an_empty_body() -> None:
    source = block("001", "from pyptx import kernel, Tile, Layout", "def gemm(A, B, C, *, BM=128, BN=256, BK=64): ...")
    gemm = run(source, "seeds/001")["gemm"]
    assert gemm.template_params == {"BM": 128, "BN": 256, "BK": 64}
    with pytest.warns(UserWarning, match="gemm"):
        run(
            block("001", "print(gemm.ptx(M=4096, N=4096, K=4096))", "print(gemm.ptx(M=4096, N=4096, K=4096))"),
            "seeds/001",
            gemm=gemm,
        )


def test_the_kernel_pages_decorator_forms_work() -> None:
    from pyptx import Tile, kernel
    from pyptx.types import bf16, f32

    source = block("001", "@kernel", "def gemm(A, B, C, *, BM=128): ...")
    names = run(source, "seeds/001", kernel=kernel, Tile=Tile, bf16=bf16, f32=f32)
    assert names["simple"].arch == "sm_90a"
    assert names["blackwell"].arch == "sm_100a"
    assert names["gemm"].cluster == (2, 1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ".target sm_100a" in names["blackwell"].ptx()


def test_the_torch_pages_rms_norm_equals_a_float64_reference() -> None:
    names = rms_norm_of_the_torch_page()
    x, w, out = (names[key].double().numpy() for key in ("x", "w", "out"))
    expected = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w
    assert np.abs(out - expected).max() <= 1e-6 * np.abs(expected).max()


def test_the_torch_pages_repeated_call_gives_the_same() -> None:
    build = rms_norm_of_the_torch_page()["build_rms_norm"]
    first = on_cpu(block("004", "k = build_rms_norm(256, 4096)", "out = k(x, w)", occurrence=1))
    names = run(first, "seeds/004 turbo", build_rms_norm=build, torch=torch)
    again = names["k"](names["x"], names["w"])
    assert torch.equal(names["out"], again)


def test_the_torch_pages_compiled_kernel_gives_the_same() -> None:
    build = rms_norm_of_the_torch_page()["build_rms_norm"]
    source = on_cpu(block("004", "k = build_rms_norm(256, 4096)", "out = k_compiled(x, w)", occurrence=2))
    names = run(source, "seeds/004 compile", build_rms_norm=build, torch=torch)
    assert torch.equal(names["out"], names["k"](names["x"], names["w"]))


def test_the_kernel_pages_copy_of_a_tensor_traces_and_assembles() -> None:
    from pyptx import Layout, Tile, kernel, ptx, reg, smem
    from pyptx.types import bf16, u32

    source = block("001", "ptx.cp.async_.bulk.tensor_2d(", ")")

    @kernel(in_specs=(Tile("M", "K", bf16, Layout.TMA_128B, tma_box=(64, 64)),), grid=1, block=128)
    def load(A: Any) -> None:
        x, y = reg.scalar(u32, init=0), reg.scalar(u32, init=0)
        names = {"sA": smem.wgmma_tile(bf16, (64, 64)), "bar": smem.mbarrier(1), "A": A, "x": x, "y": y}
        run(source, "seeds/001 tensor", ptx=ptx, **names)
        ptx.ret()

    text = load.ptx(M=256, K=256)
    assert text.count("cp.async.bulk.tensor.2d.shared::cluster.global") == 1
    assert load.cubin(M=256, K=256)[:4] == b"\x7fELF"


def test_the_transpiler_pages_loop_of_products_traces_and_assembles() -> None:
    from pyptx import kernel, ptx, reg, smem
    from pyptx.types import f32, u32

    source = block("003", 'with ptx.loop("consumer_pair_loop"):', "    ptx.inst.wgmma.wait_group.sync.aligned(0)")

    @kernel(arch="sm_90a", grid=1, block=128, extern_smem="smem", smem=1 << 16)
    def consume() -> None:
        base = smem.base()
        names = {
            "consumer_pipe": ptx.pipeline(4),
            "full": ptx.mbarrier.array(base, 0, 4),
            "smem_base": base,
            "lane_mask": reg.scalar(u32, init=0),
            "b_base": base,
            "b_offsets": (49152, 49184, 49216, 49248),
            "b_masks": (262016, 262112, 262080, 262112),
            "acc_frag": reg.array(f32, 128),
            "first_scale_zero": False,
        }
        run(source, "seeds/003 loop", ptx=ptx, **names)
        ptx.ret()

    text = consume.ptx()
    assert text.count("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16") == 4
    assert consume.cubin()[:4] == b"\x7fELF"
