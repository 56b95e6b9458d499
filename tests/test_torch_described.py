"""The lines that a transpiled `my_kernel.py` prints: they launch a compiler's kernel on torch and jax arrays."""

from __future__ import annotations

import runpy
import sys
import textwrap
from functools import partial
from typing import TYPE_CHECKING

import jax
import numpy as np
import pytest
import torch

from pyptx import Layout, Tile
from pyptx.codegen import ptx_to_python
from pyptx.modules import FunctionName
from pyptx.types import bf16, f32, s32
from pyptx_ir.syntax import decode

from .corpus_modules import CORPUS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.torch,
    pytest.mark.jax,
    pytest.mark.filterwarnings("ignore::pyptx_ir.errors.SimulatedExecution"),
]

# Loads with a 3-d tensor map (slabs of 64 columns) and a 2-d one complete on one mbarrier; then a store of slabs.
TILES = """.version 8.0
.target sm_90a
.address_size 64

.extern .shared .align 1024 .b8 memory[];

.visible .entry tiles(
	.param .align 64 .b8 tiles_param_0[128],
	.param .align 64 .b8 tiles_param_1[128],
	.param .u64 tiles_param_2,
	.param .align 64 .b8 tiles_param_3[128],
	.param .u32 tiles_param_4
)
.maxntid 128
{
	.reg .pred %p<3>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<12>;
	.shared .align 8 .b8 full[8];

	mov.b64 %rd1, tiles_param_0;
	mov.b64 %rd2, tiles_param_1;
	mov.b64 %rd3, tiles_param_3;
	ld.param.u64 %rd4, [tiles_param_2];
	ld.param.u32 %r1, [tiles_param_4];
	cvta.param.u64 %rd5, %rd1;
	cvta.param.u64 %rd6, %rd2;
	cvta.param.u64 %rd7, %rd3;
	cvta.to.global.u64 %rd8, %rd4;
	mov.u32 %r2, %tid.x;
	mov.u32 %r3, full;
	mov.u32 %r4, memory;
	mov.b32 %r5, 0;
	setp.ne.s32 %p1, %r2, 0;
	@%p1 bra $L__BB0_2;
	mbarrier.init.shared::cta.b64 [%r3], 1;
	fence.mbarrier_init.release.cluster;
	mov.b32 %r6, 24576;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r6;
	add.s32 %r7, %r4, 65536;
	cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd5, {%r5, %r1, %r5}], [%r3];
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%rd6, {%r1, %r1}], [%r3];
$L__BB0_2:
	bar.sync 0;
$L__BB0_3:
	mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r5;
	@!%p2 bra $L__BB0_3;
	mad.lo.s32 %r8, %r2, 64, %r4;
	mov.b32 %r9, 1065369472;
	st.shared.v4.b32 [%r8], {%r9, %r9, %r9, %r9};
	mul.wide.u32 %rd9, %r2, 4;
	add.s64 %rd10, %rd8, %rd9;
	st.global.u32 [%rd10], %r2;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	@%p1 bra $L__BB0_5;
	cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd7, {%r5, %r1, %r5}], [%r4];
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;
$L__BB0_5:
	ret;
}
"""  # fmt: skip
SPECS = """\
        in_specs={
            "param_0": Tile("M0", "N0", bf16, Layout.TMA_128B, tma_box=(96, 64), tma_rank=3),
            "param_1": Tile("M1", "N1", bf16, Layout.TMA_128B, tma_box=(96, 64)),
            "param_2": Tile("N2", b32),
            "param_3": Tile("M3", "N3", bf16, Layout.TMA_128B, tma_box=(64, 64), tma_rank=3),
        },
        mutates=["param_2", "param_3"],
"""
LAUNCHED = ("nvcc-13.0/atomics.sm_80", "nvcc-13.0/hashing.sm_75", "triton-3.9/across.sm_80.counting")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder from which `my_kernel` is imported; restore the jax options that its printed lines set."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_kernel", raising=False)
    before = jax.config.jax_enable_x64
    yield tmp_path
    jax.config.update("jax_enable_x64", before)
    sys.modules.pop("my_kernel", None)


@pytest.mark.parametrize("name", LAUNCHED)
@pytest.mark.long
def test_the_lines_run_as_they_are_and_both_frameworks_get_the_same(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = decode((CORPUS / f"{name}.ptx").read_bytes())
    _, ours, theirs = launched(source, folder, capsys)
    assert ours == theirs
    assert any(set(each) != {0} for each in ours)


def test_lines_with_tensor_maps_have_their_ranks_and_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines, ours, theirs = launched(TILES, folder, capsys)
    assert SPECS in lines
    assert ours == theirs
    written, stored = ours
    assert np.array_equal(np.frombuffer(written, np.uint32)[:128], range(128))
    bits = np.frombuffer(stored, np.uint16).reshape(1024, 1024)
    assert set(np.unique(bits)) == {0, 0x3F80}  # bf16 bit patterns of 0 and 1
    assert not bits[:16].any()  # the kernel's last argument, 16, is the first row that it stores
    assert bits[16:80, :64].any(axis=1).all()


@pytest.mark.parametrize("name", ["hopper_gemm", "hopper_copy"])
def test_lines_for_kernels_of_nvcc_with_tensor_maps_run(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines, ours, theirs = launched(decode((CORPUS / f"nvcc-13.0/{name}.sm_90a.ptx").read_bytes()), folder, capsys)
    assert "tma_box=" in lines
    assert ours == theirs


def launched(source: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[bytes], list[bytes]]:
    """Run the launch lines that a transpiled module prints; return them, and the bytes of its torch and jax arrays."""
    (folder / "my_kernel.py").write_text(ptx_to_python(source, sugar=True), encoding="ascii")
    runpy.run_path(str(folder / "my_kernel.py"), run_name="__main__")
    said = capsys.readouterr().out
    lines = said.partition("\nTo launch ")[2].partition("\n")[2].partition("\nThe simulator runs")[0]
    shown: list[list[bytes]] = []
    names: dict[str, object] = {"print": lambda *arrays: shown.append([bits(each) for each in arrays])}
    exec(textwrap.dedent(lines), names)  # noqa: S102  lines for users to copy
    ours, theirs = shown
    return lines, ours, theirs


def bits(array: object) -> bytes:
    """Return the bytes of a jax array or torch tensor, also of bf16 tensors, which NumPy does not accept."""
    if isinstance(array, torch.Tensor):
        return array.contiguous().view(torch.uint8).numpy().tobytes()
    return np.asarray(array).tobytes()


def kernel(name: str, function: str, folder: Path) -> FunctionName:
    """Return a kernel of a transpiled module, imported from its file."""
    source = decode((CORPUS / f"{name}.ptx").read_bytes())
    (folder / "printed.py").write_text(ptx_to_python(source, sugar=True), encoding="ascii")
    found = runpy.run_path(str(folder / "printed.py"))[function]
    assert isinstance(found, FunctionName)
    return found


def test_a_kernel_of_nvcc_is_right_on_arrays_of_torch_and_of_jax(tmp_path: Path) -> None:
    clamped = kernel("nvcc-13.0/elementwise.sm_80", "clamp_and_select", tmp_path).kernel(
        names=("out", "values", "low", "high", "N"),
        in_specs={"values": Tile("N", s32)},
        out_specs={"out": Tile("N", s32)},
        grid=lambda N: -(-N // 128),
        block=128,
    )
    values = np.random.default_rng(5).integers(-100, 100, 300, np.int32)
    bounded = values.clip(-40, 60)
    wanted = np.where(bounded & 1, -bounded, bounded)
    assert np.array_equal(clamped(torch.from_numpy(values), low=-40, high=60).numpy(), wanted)
    assert np.array_equal(clamped(values, low=-40, high=60), wanted)
    bound = partial(clamped, low=-40, high=60)
    for call in (bound, jax.jit(bound)):
        assert np.array_equal(call(jax.numpy.asarray(values)), wanted)
    assert clamped.simulate(values, low=-40, high=60).findings == ()


def test_inputs_that_are_written_to_change_in_torch_and_are_returned_by_jax(tmp_path: Path) -> None:
    saxpy = kernel("nvcc-13.0/elementwise.sm_80", "saxpy_strided", tmp_path).kernel(
        names=("y", "x", "a", "N"),
        in_specs={"y": Tile("N", f32), "x": Tile("N", f32)},
        mutates=("y",),
        grid=2,
        block=64,
    )
    x, y = np.linspace(-1, 1, 500, dtype=np.float32), np.linspace(7, 9, 500, dtype=np.float32)
    wanted = 2.5 * x.astype(np.float64) + y
    changed = torch.from_numpy(y.copy())
    saxpy(changed, torch.from_numpy(x), a=2.5)
    for given in (changed.numpy(), saxpy(jax.numpy.asarray(y), jax.numpy.asarray(x), a=2.5)):
        assert (
            np.abs(np.asarray(given).astype(np.float64) - wanted).max() <= 2.0**-24 * 16
        )  # bound: one f32 rounding of numbers below 16


def test_a_matrix_product_with_tensor_maps_is_a_kernel_of_torch(tmp_path: Path) -> None:
    def tile(rows: str, columns: str, height: int) -> Tile:
        return Tile(rows, columns, bf16, Layout.TMA_128B, tma_box=(height, 64))

    product = kernel("nvcc-13.0/hopper_gemm.sm_90a", "gemm", tmp_path).kernel(
        names=("a", "b", "c", "M", "N", "K"),
        in_specs={"a": tile("M", "K", 128), "b": tile("N", "K", 256)},
        out_specs={"c": tile("M", "N", 64)},
        grid=1,
        block=384,
        smem=213_040,  # bytes of the kernel's three pipeline stages, as in corpus/sources/hopper_gemm.cu
    )
    torch.manual_seed(3)
    a, b = torch.randn(136, 128).bfloat16(), torch.randn(264, 128).bfloat16()
    wanted = a.double() @ b.double().T
    assert torch.all((product(a, b).double() - wanted).abs() <= 2.0**-8 * wanted.abs() + 1e-3)
