"""Nothing is silently wrong: a beginner's mistake is reported at its line, with the fix."""

from __future__ import annotations

import linecache
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32
from pyptx_ir.errors import PyptxError
from pyptx_sim.errors import FindingWarning

from .newcomer_traps import HEADER, TRAPS, Trap

if TYPE_CHECKING:
    from pathlib import Path

MARK = "# <-"


def outcome(trap: Trap, path: Path) -> tuple[set[str], str]:
    """Run a program from its own file; return the reported classes or rules, and the messages."""
    source = HEADER + trap.source
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    names: dict[str, Any] = {"__name__": "user_program"}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(compile(source, str(path), "exec"), names)  # noqa: S102 - the user's program
        except PyptxError as error:
            return {each.__name__ for each in type(error).__mro__}, str(error)
    if "report" in names:
        findings = names["report"].findings
        return {finding.rule for finding in findings}, "\n".join(map(str, findings))
    return {each.category.__name__ for each in warned}, "\n".join(str(each.message) for each in warned)


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.title for trap in TRAPS])
def test_a_habit_that_goes_wrong_is_told_at_its_line(trap: Trap, tmp_path: Path) -> None:
    path = tmp_path / "user_program.py"
    told, text = outcome(trap, path)
    assert told >= {trap.told}, text
    (line,) = [number for number, row in enumerate(path.read_text().splitlines(), 1) if MARK in row]
    assert re.search(rf"user_program\.py:{line}(:| in )", text), text
    for word in trap.words:
        assert word in text


def test_an_element_of_shared_memory_is_read_as_it_was_written() -> None:
    @kernel(out_specs=(Tile(32, u32),), grid=1, block=32, arch="sm_80")
    def turned(Y: Any) -> None:
        (py,) = ptx.global_ptrs(Y)
        t, s = reg.from_(ptx.special.tid.x(), u32), smem.alloc(u32, 32)
        s[t] = t
        ptx.bar.sync(0)
        v = reg.scalar(u32)
        ptx.mov(u32, v, s[31 - t])
        ptx.inst.st.global_.u32(ptx.addr(py + t * 4), v)
        ptx.ret()

    report = turned.simulate()
    assert not report.findings
    np.testing.assert_array_equal(report.outputs[0], np.arange(32)[::-1])


@kernel(in_specs=(Tile(128, f32),), out_specs=(Tile(128, f32),), grid=1, block=128, arch="sm_80")
def reverse(X: Any, Y: Any) -> None:
    """Reverse an array, without the required barrier."""
    px, py = ptx.global_ptrs(X, Y)
    i, s = reg.from_(ptx.special.tid.x(), u32), smem.alloc(f32, 128)
    s[i] = ptx.ld(f32, reg.scalar(f32), ptx.addr(px + i * 4))
    ptx.inst.st.global_.f32(ptx.addr(py + i * 4), s[127 - i])
    ptx.ret()


def test_the_environment_says_which_calls_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(128, dtype=np.float32)
    for policy in ("auto", "all"):
        monkeypatch.setenv("PYPTX_CHECKS", policy)
        with pytest.warns(FindingWarning, match=r"(?s)^reverse: error\[shared-race\]: .*reverse\.simulate\("):
            np.testing.assert_array_equal(reverse(x), x[::-1])
    monkeypatch.setenv("PYPTX_CHECKS", "off")
    np.testing.assert_array_equal(reverse(x), x[::-1])  # no finding: pytest would turn its warning into an error
    monkeypatch.setenv("PYPTX_CHECKS", "often")
    with pytest.raises(PyptxError, match="PYPTX_CHECKS must be off, auto or all, got 'often'"):
        reverse(x)
