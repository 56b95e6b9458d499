"""`Kernel.explain`: ptxas advisories, spills and local memory, each at its Python line with a remedy."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import PtxasAdvisory
from pyptx_dsl.inspect.advice import advice_on
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32, u32
from pyptx_ir.toolchain import assemble, disassemble

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_dsl.kernels.kernel import Kernel

pytestmark = pytest.mark.ptxas

HERE = re.escape(__file__.rpartition("/")[2])


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))


def crowded(directives: list[tuple[str, tuple[int, ...]]] | None = None, *, lineinfo: bool = False) -> Kernel:
    @kernel(
        in_specs=(Tile("N", f32),),
        out_specs=(Tile("N", f32),),
        grid=1,
        block=64,
        raw_directives=directives,
        lineinfo=lineinfo,
    )
    def many(X: object, Y: object) -> None:
        px, py = ptx.global_ptrs(X, Y)
        values = reg.array(f32, 96)
        for i in range(96):
            ptx.inst.ld.volatile.global_.f32(values[i], ptx.addr(px, 4 * i))
        for i in range(96):
            ptx.inst.st.volatile.global_.f32(ptx.addr(py, 4 * i), values[(i * 37) % 96])
        ptx.ret()

    return many


def test_spills_are_shown_at_the_lines_that_cause_them_with_what_to_do() -> None:
    text = crowded([("maxnreg", (32,))]).explain(N=96)
    assert re.search(r"// many for sm_90a: \d+ registers per thread, .*[1-9]\d* bytes spilled", text)
    assert re.search(r"// ptxas: \d+ bytes of spilled registers\n//   meaning: .*\n//   to do: keep fewer values", text)
    shown = re.findall(rf"//   (\d+) accesses to local memory from\n//   \S*{HERE}:\d+: in .*many\n//\s+(.*)\n", text)
    assert sum(int(count) for count, _ in shown) > 40
    assert any("ptx.inst.ld.volatile" in source for _, source in shown)


def test_a_kernel_without_trouble_is_one_line() -> None:
    head = crowded().explain(N=96).partition("\n\n")[0]
    assert re.fullmatch(r"// many for sm_90a: \d+ registers per thread, 0 bytes spilled", head)


@pytest.mark.hopper
def test_a_dropped_setmaxnreg_is_a_warning_and_an_explanation_with_the_remedy() -> None:
    @kernel(grid=1, block=256)
    def grows() -> None:
        ptx.inst.setmaxnreg.inc.sync.aligned.u32(232)
        ptx.ret()

    with pytest.warns(PtxasAdvisory, match="setmaxnreg' ignored.*\n?.*help: set the register limit"):
        grows.cubin()
    text = grows.explain()
    assert "// ptxas: Potential Performance Loss: 'setmaxnreg' ignored" in text
    assert "to do: set the register limit" in text

    @kernel(grid=1, block=256, raw_directives=[("maxntid", (256,)), ("minnctapersm", (1,))])
    def keeps() -> None:
        ptx.inst.setmaxnreg.inc.sync.aligned.u32(232)
        ptx.ret()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keeps.cubin()


def test_advice_is_on_words_that_ptxas_really_has() -> None:
    said = (
        ".minnctapersm is ignored when neither .maxntid nor .reqntid is specified.",
        "Registers are spilled to local memory in function 'k', 8 bytes spill stores, 8 bytes spill loads",
    )
    assert all(advice_on(remark) for remark in said)
    assert advice_on("Unknown modifier '.foo'") is None


def test_nvdisasm_shows_python_lines_with_the_helpers_that_were_inlined() -> None:
    def doubled(value: reg.Reg) -> reg.Reg:
        return value * 2.0

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=64, lineinfo=True)
    def helped(X: object, Y: object) -> None:
        px, py = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + at))
        ptx.inst.st.global_.f32(ptx.addr(py + at), doubled(value))
        ptx.ret()

    first = helped._declaration.function.__code__.co_firstlineno
    sass = disassemble(assemble(helped.ptx(N=64), "sm_90a").cubin, lines=True)
    blocks = dict(_blocks(sass))
    multiplied = next(place for place, code in blocks.items() if "FMUL" in code or "FADD" in code)
    assert re.fullmatch(
        rf'File ".*{HERE}", line {doubled.__code__.co_firstlineno + 1} '
        rf'inlined at ".*{HERE}", line {first + 6}\n.*line {first + 6}',
        multiplied,
    )
    stored = next(place for place, code in blocks.items() if "STG" in code)
    assert stored.endswith(f"line {first + 6}")


def _blocks(sass: str) -> list[tuple[str, str]]:
    """Return the source lines and the SASS of each code range of an explanation."""
    found: list[tuple[str, str]] = []
    place: list[str] = []
    code: list[str] = []
    for line in sass.splitlines():
        if line.lstrip().startswith("//## "):
            if code:
                found.append(("\n".join(place), "\n".join(code)))
                place, code = [], []
            place.append(line.strip().removeprefix("//## "))
        elif place:
            code.append(line)
    return [*found, ("\n".join(place), "\n".join(code))]
