"""ptxas errors are reported at Python lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import reg, smem
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import AssemblyFailed, PtxasAdvisory
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.registers.operands import AddressOperand
from pyptx_dsl.tracing.trace import active
from pyptx_dsl.types import TYPES, e2m1x2, f32, u32, u64
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.operands import Register, Symbol
from pyptx_ir.toolchain import assemble

from .operator_rows import ROWS
from .test_operators import registers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.ptxas


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 64, block=64)
def double(X: object, Y: object) -> None:  # noqa: ARG001  a kernel names its arrays and templates
    trace = active()
    px, py = reg.scalar(u64), reg.scalar(u64)
    trace.emit(("ld", "param", "u64"), (px, AddressOperand("X")))
    trace.emit(("ld", "param", "u64"), (py, AddressOperand("Y")))
    tile = smem.alloc(f32, (64, 2))
    index = reg.from_("%ctaid.x", u32) * 64 + reg.from_("%tid.x", u32)
    value = reg.scalar(f32)
    trace.emit(("ld", "global", "f32"), (value, AddressOperand(px + index * 4)))
    tile[reg.from_("%tid.x", u32), 0] = value * 2
    trace.emit(("st", "global", "f32"), (AddressOperand(py + index * 4), tile[reg.from_("%tid.x", u32), 0]))
    trace.emit(("ret",))


def test_a_kernel_assembles_disassembles_and_counts_its_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyptx_ir.toolchain.disassemble", lambda cubin: f"SASS of {cubin[:4]!r}")
    assert double.cubin(N=128)[:4] == b"\x7fELF"
    resources = double.resources(N=128)
    assert 0 < resources.registers <= 32
    assert resources.shared >= 512
    assert resources.spills == 0
    assert double.sass(N=128) == "SASS of b'\\x7fELF'"


def test_lineinfo_assembles_too() -> None:
    assert (
        kernel(lineinfo=True, in_specs=double.in_specs, out_specs=double.out_specs)(double._declaration.function).cubin(
            N=64
        )[:4]
        == b"\x7fELF"
    )


def test_what_ptxas_refuses_is_an_error_at_the_python_line() -> None:
    @kernel
    def k() -> None:
        reg.scalar(u32, init=1)
        active().append(Instruction(opcode=("mov", "u32"), operands=(Register("%r0"), Symbol("nobody"))))  # error here

    with pytest.raises(AssemblyFailed, match="nobody") as caught:
        k.cubin()
    assert "# error here" in str(caught.value)
    assert "test_inspection.py" in str(caught.value)


@pytest.mark.hopper
def test_advice_of_ptxas_is_a_warning_at_the_users_file() -> None:
    @kernel
    def k() -> None:
        active().emit(("setmaxnreg", "inc", "sync", "aligned", "u32"), (240,))
        active().emit(("ret",))

    with pytest.warns(PtxasAdvisory, match="setmaxnreg") as caught:
        k.cubin()
    assert {each.filename for each in caught} == {__file__}


def test_ptxas_takes_every_operator() -> None:
    """One kernel per row (operator) of `ROWS` would take minutes, so the rows are `{ }` scopes of one kernel."""

    @kernel
    def every_row() -> None:
        trace = active()
        names = registers()
        for row in ROWS:
            with trace.scope():
                exec(row.python, {}, dict(names))  # noqa: S102  the text is above
        trace.emit(("ret",))

    assemble(every_row.ptx(), "sm_90a", options=("-O0",))


def test_ptxas_takes_a_register_of_every_type() -> None:
    @kernel(arch="sm_100a")
    def every_type() -> None:
        for dtype in TYPES:
            register = reg.scalar(dtype, init=None if dtype is e2m1x2 else 0)
            if dtype.memory is not None:
                tile = smem.alloc(dtype, (8,))
                smem.store(dtype, tile, smem.load(dtype, tile) if dtype is e2m1x2 else register)
        active().emit(("ret",))

    assemble(every_type.ptx(), "sm_100a", options=("-O0",))
