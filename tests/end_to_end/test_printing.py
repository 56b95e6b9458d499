"""Kernel output on the simulator equals that of C's `printf`, and ptxas accepts the kernel."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, f16, f32, s16, u32, u64


@kernel(in_specs=(Tile(4, f32),), out_specs=(Tile(4, f32),), grid=2, block=(2, 1, 1), arch="sm_80")
def printing(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    i = ptx.global_id()
    value, half, brain = reg.scalar(f32), reg.scalar(f16), reg.scalar(bf16)
    ptx.ld(f32, value, ptx.addr(x + i * 4))
    ptx.st(f32, ptx.addr(y + i * 4), value)
    ptx.cvt(f16, f32, half, value, rounding="rn")
    ptx.cvt(bf16, f32, brain, value, rounding="rn")
    small, large = reg.scalar(s16, init=-3), reg.scalar(u64, init=2**40)
    with ptx.if_(i != 1):
        ptx.printf("%u %8.3f|%-6.1f|%g %d %llu %c%s 100%%\n", i, value, half, brain, small, large, 65, " text é")
        ptx.printf("tid %d %x\n", ptx.special.tid.x(), 255)
    ptx.ret()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_prints_what_c_prints() -> None:
    given = np.array([0.5, 1.5, -2.25, 3.0], np.float32)
    result = printing.simulate(given)
    expected = ""
    for block in range(2):
        lanes = [lane for lane in range(2) if block * 2 + lane != 1]
        for lane in lanes:
            i, v = block * 2 + lane, float(given[block * 2 + lane])
            expected += f"{i} {v:8.3f}|{v:<6.1f}|{v:g} -3 {2**40} A text é 100%\n"
        expected += "".join(f"tid {lane} ff\n" for lane in lanes)
    assert sorted(result.printed.splitlines()) == sorted(expected.splitlines())  # threads print in no fixed order
    assert not result.findings
    np.testing.assert_array_equal(result.outputs[0], given)


@pytest.mark.ptxas
@pytest.mark.parametrize("arch", ["sm_75", "sm_90a", "sm_100a"])
def test_ptxas_takes_it(arch: str) -> None:
    @kernel(arch=arch)
    def k() -> None:
        ptx.printf("%d %f %s\n", reg.scalar(u32, init=1), 1.5, "text")
        ptx.printf("end\n")
        ptx.ret()

    assert k.resources().stack > 0
