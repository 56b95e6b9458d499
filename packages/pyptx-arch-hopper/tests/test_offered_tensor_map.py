"""`pyptx_sim.TensorMap`: encoding to 128 bytes, decoding, and use in launches."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pyptx_sim
from pyptx_arch_hopper import TensorMap
from pyptx_ir.commands import main
from pyptx_ir.plugins.rows import FILLS, L2_PROMOTIONS, Im2col
from pyptx_ir.plugins.rows import TensorMap as Row
from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {"u8": 1, "u16": 2, "s32": 4, "s64": 8, "f16": 2, "f32": 4, "f64": 8, "bf16": 2}
BASE = TensorMap("bf16", (300, 128), (256, 2), (64, 64), (1, 1), "128B")


def drawn(seed: int) -> TensorMap:
    """Return a random valid tensor map in tiled mode."""
    draw = random.Random(seed)
    rank, dtype = draw.randint(1, 5), draw.choice(list(TYPES))
    size = TYPES[dtype]
    inner = draw.choice([16, 32, 64, 128]) // size
    shape = (*(draw.randint(1, 1 << 20) for _ in range(rank - 1)), draw.randint(1, 1 << 20))
    strides = (*(16 * draw.randrange(1 << 36) for _ in range(rank - 1)), size)
    box = (*(draw.randint(1, 256) for _ in range(rank - 1)), inner)
    steps = (*(draw.randint(1, 8) for _ in range(rank - 1)), 1)
    fill = draw.choice(FILLS) if dtype[0] not in "us" else "zeros"
    swizzle = draw.choice(["none", f"{inner * size}B"]) if inner * size > 16 else "none"
    return TensorMap(dtype, shape, strides, box, steps, swizzle, "none", draw.choice(L2_PROMOTIONS), fill)


@pytest.mark.parametrize("seed", range(60))
def test_a_map_is_decoded_from_its_bytes(seed: int) -> None:
    described, address = drawn(seed), 16 * random.Random(seed).randrange(1 << 43)
    data = described.encode(address)
    assert len(data) == 128
    assert TensorMap.decode(data) == (described, address)


def test_a_map_for_im2col_is_decoded_from_its_bytes() -> None:
    described = TensorMap("f16", (4, 30, 40, 64), (153600, 5120, 128, 2), (), (1, 2, 1, 1), "128B")
    described = replace(described, im2col=Im2col((-1, -2), (-3, 4), 64, 100), fill="nan")
    assert TensorMap.decode(described.encode(1 << 20)) == (described, 1 << 20)


def test_the_bytes_are_what_a_device_reads() -> None:
    """The 128 bytes have the fields at the bits of `tensormap.replace`: address first, extents minus one."""
    data = BASE.encode(0x7E0012345600)
    assert struct.unpack_from("<Q", data) == (0x7E0012345600,)
    assert struct.unpack_from("<2I", data, 0x20) == (127, 299)
    assert struct.unpack_from("<I", data, 0x0C) == (256 // 16,)
    assert (data[0x37], data[0x38]) == (63, 63)
    modes = struct.unpack_from("<I", data, 8)[0]
    assert (modes >> 4 & 7, modes >> 7 & 15, modes >> 13 & 3) == (1, 10, 3)  # tensor map: rank - 1, bf16, 128B swizzle
    assert not any(data[64:])


def test_bits_of_the_drivers_own_are_no_matter() -> None:
    data = bytearray(BASE.encode(64))
    data[8] |= 2
    assert TensorMap.decode(bytes(data)) == (BASE, 64)


@pytest.mark.parametrize("data", [bytes(128), bytes(127), b"\1" * 128, replace(BASE).encode(0)[:-1] + b"x"])
def test_what_is_no_map_is_not_decoded(data: bytes) -> None:
    with pytest.raises(LaunchError, match=r"not a tensor map|no valid|of a tensor map, got 127"):
        TensorMap.decode(data)


def test_a_map_of_an_array_has_its_shape_and_type() -> None:
    array = np.zeros((300, 128), np.uint16)
    assert TensorMap.of(array, (64, 64), dtype="bf16", swizzle="128B") == BASE
    memory = pyptx_sim.Memory()
    assert TensorMap.of(memory.put(array), (64, 64), dtype="bf16", swizzle="128B") == BASE
    turned = np.zeros((6, 8, 40), np.float32).transpose(1, 0, 2)
    described = TensorMap.of(turned, (1, 2, 4), element_strides=(2, 1, 1), fill="nan", l2_promotion="64B")
    assert described == TensorMap("f32", (8, 6, 40), (160, 1280, 4), (1, 2, 4), (2, 1, 1), "none", "none", "64B", "nan")


def test_what_no_map_has_is_an_error() -> None:
    array = np.zeros((300, 128), np.uint16)
    with pytest.raises(LaunchError, match=r"a box of rank 2, got \(64,\)"):
        TensorMap.of(array, (64,))
    with pytest.raises(LaunchError, match="innermost elements are not adjacent"):
        TensorMap.of(array.T, (64, 64))
    for wrong, dtype in ((array, "f32"), (array, "f16x2"), (np.zeros((8, 8), np.complex64), None)):
        with pytest.raises(LaunchError, match="invalid element type"):
            TensorMap.of(wrong, (8, 8), dtype=dtype)


def test_the_simulator_offers_it_by_name() -> None:
    assert vars(pyptx_sim).get("TensorMap") is None
    assert pyptx_sim.TensorMap is TensorMap  # type: ignore[attr-defined]  # defined by a plugin
    assert issubclass(TensorMap, Row)
    with pytest.raises(AttributeError, match="no attribute 'TextureMap'"):
        _ = pyptx_sim.TextureMap  # type: ignore[attr-defined]  # under test


COPY = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 m[128], .param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    .shared .align 128 .b8 tile[256];
    .shared .align 8 .b64 bar;
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bar; mov.b64 %rd1, m; cvta.param.u64 %rd1, %rd1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra WAIT;
    mbarrier.init.shared.b64 [%r3], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {4, 2}], [%r3];
WAIT:
    bar.sync 0;
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p, [%r3], 0;
    @!%p bra AGAIN;
    mad.lo.u32 %r4, %r1, 4, %r2; ld.shared.u32 %r5, [%r4];
    ld.param.u64 %rd2, [out]; mad.wide.u32 %rd3, %r1, 4, %rd2; st.global.u32 [%rd3], %r5;
    ret;
}
"""


def test_a_shell_passes_an_array_by_a_map(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(COPY)
    given = ["u32[16,32]=arange@TensorMap(box=8x8)", "u32[64]"]
    words = [word for spec in given for word in ("--arg", spec)]
    saved = tmp_path / "out.npy"
    assert main(["sim", str(tmp_path / "k.ptx"), "--block", "64", *words, "--save", f"out={saved}"]) == 0
    assert np.load(saved).reshape(8, 8).tolist() == np.arange(512).reshape(16, 32)[2:10, 4:12].tolist()


def test_a_structure_holds_a_map_made_before_the_launch() -> None:
    """A kernel parameter like CUTLASS's: pointers, numbers and tensor maps in one structure."""
    text = COPY.replace("m[128], .param .u64 out", "p[256]").replace("mov.b64 %rd1, m", "mov.b64 %rd1, p")
    text = text.replace("cvta.param.u64 %rd1, %rd1;", "cvta.param.u64 %rd1, %rd1; add.u64 %rd1, %rd1, 64;")
    text = text.replace("[out]", "[p+192]")
    x, out = np.arange(512, dtype=np.uint32).reshape(16, 32), np.zeros(64, np.uint32)
    described = TensorMap.of(x, (8, 8))
    memory = pyptx_sim.Memory()
    encoded = bytes(56) + described.encode(memory.put(x).address)
    for given in (
        (np.int32(5), pyptx_sim.WithDescriptor(x, described), out),
        {"count": np.int32(5), "map": pyptx_sim.WithDescriptor(memory.put(x), described), "out": memory.put(out)},
        (np.int64(5), encoded, out, bytes(56)),
    ):
        out[:] = 0
        result = pyptx_sim.run(text, grid=1, block=64, args=[given], memory=memory)
        assert result.findings == ()
        assert out.reshape(8, 8).tolist() == x[2:10, 4:12].tolist()
