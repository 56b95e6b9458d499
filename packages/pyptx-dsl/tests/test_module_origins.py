"""ptxas assembles a traced module, and its errors are reported at Python lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import ArchError, AssemblyFailed, ControlFlowError, PtxasAdvisory
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b8, b32, b64, u32, u64

if TYPE_CHECKING:
    from pyptx_dsl.modules.builder import ModuleBuilder


def scaled() -> ModuleBuilder:
    m = module(version=(8, 7), target="sm_90a")
    m.global_("table", u32, 4, init=[1, 2, 3, 4])

    @m.entry("scale", [m.param("X", u64)], visible=True)
    def scale() -> None:
        (x,) = reg.declare(b64, "%x")
        ptx.inst.ld.param.u64(x, ptx.addr("X"))
        ptx.inst.ret()

    return m


@pytest.mark.ptxas
def test_a_module_is_compiled() -> None:
    m = scaled()
    assert m.cubin()[:4] == b"\x7fELF"
    assert m.resources()["scale"].registers > 0
    assert "EXIT" in m.sass()


@pytest.mark.ptxas
def test_what_ptxas_refuses_of_a_body_is_an_error_at_the_line_that_wrote_it() -> None:
    m = scaled()
    m.comment("a line more\nand another one")

    def culprit(r: reg.RegArray) -> None:
        ptx.formatted(leading="\n\n\n\t", unchecked=True)
        ptx.inst.mov.u32(r[0], "nobody")  # error here

    @m.entry("k", [m.param("a", u32), m.param("b", u32)], maxntid=(128,))
    def k() -> None:
        r = reg.bank("%r", b32, 4)
        with ptx.scope():
            reg.declare(b32, "%inner")
            ptx.inst.mov.u32(r[1], 3)
            culprit(r)
        ptx.inst.ret()

    with pytest.raises(AssemblyFailed, match="nobody") as caught:
        m.cubin()
    told = str(caught.value)
    assert "# error here" in told
    assert "culprit(r)" in told
    assert f"line {m.ptx().split('nobody')[0].count(chr(10)) + 1} of m.ptx()" in told


@pytest.mark.ptxas
def test_what_ptxas_refuses_of_a_statement_of_the_module_is_an_error_at_its_line() -> None:
    m = scaled()
    m.alias("other", "missing")  # error here
    with pytest.raises(AssemblyFailed, match="missing") as caught:
        m.cubin()
    assert 'm.alias("other", "missing")' in str(caught.value)


@pytest.mark.hopper
@pytest.mark.ptxas
def test_advice_on_a_module_is_a_warning_at_the_users_file() -> None:
    m = module(version=(8, 7), target="sm_90a")

    @m.entry("k")
    def k() -> None:
        ptx.inst.setmaxnreg.inc.sync.aligned.u32(240)
        ptx.inst.ret()

    with pytest.warns(PtxasAdvisory, match="setmaxnreg") as caught:
        m.cubin()
    assert {each.filename for each in caught} == {__file__}


def test_each_line_of_a_module_has_the_call_that_wrote_it() -> None:
    def ret() -> None:
        ptx.inst.ret()

    m = module(version=(8, 7), target="sm_90a")
    m.var("const", "a", u32, 2, init=[1, 2])
    m.formatted(leading="\n\n\n")
    m.entry("first", [m.param("p", u64), m.param("q", u64)])(ret)
    with m.section(".debug_str"):
        m.label("here")
        m.data(b8, 1, 2)

    @m.func("second")
    def second() -> None:
        ptx.inst.bar.sync(0)
        ptx.inst.ret()

    origins = m._statements.line_origins()
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    wrote = {".const": "m.var(", "p,": "m.entry", "q": "m.entry", "ret;": "ptx.inst.ret()", "here:": "m.label"}
    wrote |= {".b8": "m.data", ".section": "m.section", "bar.sync": "bar.sync(0)", "second": "m.func"}
    for number, line in enumerate(m.ptx().splitlines(), 1):
        for text, call in wrote.items():
            if text in line:
                assert call in source[origins[number][0].line - 1], line


def test_a_function_that_is_defined_in_the_body_of_another_has_its_own_lines() -> None:
    m = module(version=(8, 7), target="sm_90a")

    @m.func("outer")
    def outer() -> None:
        @m.func("inner")
        def inner() -> None:
            ptx.inst.bar.sync(1)

        ptx.inst.bar.sync(2)

    origins = m._statements.line_origins()
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(m.ptx().splitlines(), 1):
        if "bar.sync" in line:
            (frame,) = origins[number]
            assert line.strip()[-2] in source[frame.line - 1]


def test_a_module_without_a_target_cannot_be_compiled() -> None:
    m = module(unchecked=True)
    m.entry("k")(ptx.inst.ret)
    with pytest.raises(ArchError, match=r"needs a .target"):
        m.cubin()


def test_a_module_that_is_not_finished_cannot_be_compiled() -> None:
    m = scaled()
    m.entry("k")
    with pytest.raises(ControlFlowError, match="no body"):
        m.cubin()
