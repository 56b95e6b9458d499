"""Findings, errors, deadlock reports and timelines have the source lines of the PTX's `.loc`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_ir.commands import main
from pyptx_ir.debug_info import lines
from pyptx_ir.plugins.rows import Frame
from pyptx_sim import explore, run
from pyptx_sim.errors import Deadlock, LaunchError, MemoryFault, UnknownForm

from .ptx_text import BODY_LINE, module

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_sim import Result

LIBRARY = "/env/lib/python3.12/site-packages/triton/language/standard.py"
# Line 12 of kernel.py calls the library's function f, whose line 358 calls g.
DEBUG = f"""
.file 1 "kernel.py"
.file 2 "{LIBRARY}"
.section .debug_str {{
$f:
.b8 102,0
$g:
.b8 103,0
}}
"""
INLINED = """
.loc 1 12 3
.loc 2 358 12, function_name $f, inlined_at 1 12 3
.loc 2 287 12, function_name $g, inlined_at 2 358 12
"""
STACK = (Frame(LIBRARY, 287, "g"), Frame(LIBRARY, 358, "f"), Frame("kernel.py", 12, "k"))
STRAY = INLINED + "ld.global.u32 %r1, [%rd0+4096];\n.loc 1 13 3\nst.global.u32 [%rd1], %r0;"


def simulated(body: str, **options: Any) -> Result:
    """Run a kernel with this body, and with the files and strings of `DEBUG`."""
    return run(module(body) + DEBUG, grid=1, block=32, args=[np.zeros(32, np.uint32)], **options)


def test_a_finding_has_the_source_lines_and_the_inlined_calls_of_its_instruction() -> None:
    (finding,) = simulated(STRAY).findings
    assert finding.origin == STACK
    assert str(finding).splitlines()[2:5] == [
        f"    at kernel.py:12 in k (PTX line {BODY_LINE + 3})",
        f"    calls {LIBRARY}:358 in f",
        f"    calls {LIBRARY}:287 in g",
    ]
    assert finding.summary.endswith("(kernel.py:12)")


def test_both_accesses_of_a_race_have_their_source_lines() -> None:
    body = (
        ".shared .b32 s[64];\nshl.b32 %r1, %r0, 2;\nmov.u32 %r2, s;\nadd.u32 %r1, %r1, %r2;\n"
        f"{INLINED}st.shared.u32 [%r1], %r0;\nxor.b32 %r1, %r1, 128;\n.loc 1 13 3\nld.shared.u32 %r3, [%r1];"
    )
    (finding,) = run(module(body) + DEBUG, grid=1, block=64, args=[np.zeros(64, np.uint32)]).findings
    assert (finding.origin, finding.other_origin) == ((Frame("kernel.py", 13, "k"),), STACK)
    assert finding.summary.endswith("(kernel.py:13 and kernel.py:12)")


@pytest.mark.parametrize("origins", [{BODY_LINE + 3: (Frame("given.py", 1, "f"),)}, {1: (Frame("given.py", 1, "f"),)}])
def test_the_callers_lines_win_over_the_lines_of_the_text(origins: dict[int, tuple[Frame, ...]]) -> None:
    (finding,) = simulated(STRAY, origins=origins).findings
    assert finding.origin == origins.get(BODY_LINE + 3, STACK)


def test_an_error_shows_the_source_line(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("\n" * 11 + "    y = tl.sum(x)\n")
    with pytest.raises(MemoryFault) as raised:
        run(
            module(STRAY) + DEBUG.replace("kernel.py", str(path)),
            grid=1,
            block=32,
            args=[np.zeros(32, np.uint32)],
            checks="none",
        )
    text = str(raised.value)
    assert f"{path}:12: in k\n    y = tl.sum(x)\n    ^^^^^^^^^^^^^\n" in text
    assert f"calls {LIBRARY}:287 in g" in text


def test_an_error_before_the_run_shows_the_source_line() -> None:
    with pytest.raises(UnknownForm, match=r"kernel\.py:12: in k\n(.|\n)*standard\.py:287 in g"):
        simulated(INLINED + "frobnicate.u32 %r1, %r0;")


DEADLOCK = "setp.lt.u32 %p1, %r0, 16;\n.loc 1 20 3\n@%p1 bar.sync 0, 64;\n@!%p1 bar.sync 1, 64;"


def test_a_deadlock_report_has_the_source_lines_of_the_waits() -> None:
    (finding,) = simulated(DEADLOCK).findings
    assert finding.rule == "deadlock"
    assert finding.origin == (Frame("kernel.py", 20, "k"),)
    assert "at kernel.py:20, PTX line" in "\n".join(finding.notes)
    with pytest.raises(Deadlock, match=r"at kernel\.py:20, PTX line"):
        simulated(DEADLOCK, checks="none")


def test_a_timeline_names_spans_after_the_users_line(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    simulated(f"NEXT: {INLINED} add.u32 %r1, %r0, 1;", trace=path)
    spans = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [span["name"] for span in spans] == ["k", "kernel.py:12"]
    assert spans[1]["args"]["source"][1:] == [f"{LIBRARY}:358 in f", "kernel.py:12 in k"]


def test_findings_of_schedules_have_the_source_lines() -> None:
    found = explore(module(STRAY) + DEBUG, grid=1, block=32, args=[np.zeros(32, np.uint32)], seeds=range(2))
    assert [each.finding.origin for each in found.findings] == [STACK]


CALLER = """
.version 8.8
.target sm_90
.address_size 64
.extern .func stray(.param .u64 p);
.visible .entry k(.param .u64 out)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd0, [out];
.loc 1 5 1
ld.global.u64 %rd1, [%rd0+8192];
{ .param .u64 p; st.param.u64 [p], %rd0; call stray, (p); }
ret;
}
.file 1 "main.cu"
"""
CALLED = """
.version 8.8
.target sm_90
.address_size 64
.visible .func stray(.param .u64 p)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd0, [p];
.loc 1 7 1
ld.global.u64 %rd1, [%rd0+8192];
ret;
}
.file 1 "library.cu"
"""
LINE, CALLED_LINE = (text.split("\n").index("ld.global.u64 %rd1, [%rd0+8192];") + 1 for text in (CALLER, CALLED))


def linked(**options: Any) -> list[tuple[Frame, ...]]:
    """Return the source lines of the two findings of two linked modules."""
    findings = run([CALLER, CALLED], grid=1, block=1, args=[np.zeros(1, np.uint64)], entry="k", **options).findings
    return [finding.origin for finding in findings]


def test_each_linked_module_has_its_own_files_and_lines() -> None:
    assert linked() == [(Frame("main.cu", 5, "k"),), (Frame("library.cu", 7, "stray"),)]
    given = Frame("given.py", 1, "f")
    assert linked(origins=({}, {CALLED_LINE: (given,)})) == [(Frame("main.cu", 5, "k"),), (given,)]
    assert linked(origins=({LINE: (given,)}, {})) == [(given,), (Frame("library.cu", 7, "stray"),)]


def test_lines_of_linked_modules_are_a_mapping_per_module() -> None:
    with pytest.raises(
        LaunchError, match=r"origins has source lines of 1 module, expected 2(.|\n)*help: pass a sequence"
    ):
        linked(origins={LINE: STACK})


def test_a_run_without_findings_does_not_read_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(module: object) -> list[object]:
        raise AssertionError(module)

    monkeypatch.setattr(lines, "_LocReader", unexpected)
    assert simulated(INLINED + "st.global.u32 [%rd1], %r0;").clean


@pytest.mark.parametrize("style", ["text", "json", "github", "sarif", "junit"])
def test_the_command_reports_the_users_line_first(
    style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(module(STRAY) + DEBUG)
    assert main(["sim", str(path), "--block", "32", "--arg", "u32[32]=zeros", "--format", style]) == 1
    shown = capsys.readouterr().out
    assert 0 < shown.index("kernel.py") < shown.index("standard.py")
    if style == "json":
        (position,) = json.loads(shown)["problems"][0]["positions"]
        assert [position[name] for name in ("file", "line", "function")] == ["kernel.py", 12, "k"]
        assert [(each["line"], each["function"]) for each in position["calls"]] == [(358, "f"), (287, "g")]
        assert "callers" not in position
