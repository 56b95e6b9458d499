"""The face that results of runs share: a short summary, all findings as text and JSON, and an assertion."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest

from pyptx_ir.plugins.rows import Frame
from pyptx_sim import explore, run
from pyptx_sim.errors import LaunchError
from pyptx_sim.findings import Finding
from pyptx_sim.outcome import LINES, Outcome
from pyptx_sim.result import Result, Statistics

from .test_runtime import Scale, simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RACES = 20
HEAD = ".version 8.5\n.target sm_90\n.address_size 64\n"
RACY = (
    f"{HEAD}.visible .entry racy(.param .u64 out) {{\n.reg .b64 %rd<2>; .reg .b32 %r<2>;\n"
    "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
    + "".join(f"st.global.u32 [%rd1+{4 * number}], %r1;\n" for number in range(RACES))
    + "ret; }\n"
)
CLEAN = f"{HEAD}.visible .entry clean() {{ ret; }}\n"
TRAPS = f"{HEAD}.visible .entry traps() {{ trap; }}\n"
SCHEMA = json.loads(files("pyptx_ir").joinpath("reports/report.schema.json").read_text(encoding="utf-8"))


def ran(text: str) -> Outcome:
    return run(text, grid=1, block=64, args=[np.zeros(RACES, np.uint32)] if text is RACY else [])


def explored(text: str) -> Outcome:
    return explore(text, grid=1, block=64, args=[np.zeros(RACES, np.uint32)] if text is RACY else [], seeds=(0, 1))


@pytest.mark.parametrize("of", [ran, explored])
def test_a_summary_has_at_most_15_lines_and_counts_everything(of: Callable[[str], Outcome]) -> None:
    outcome = of(RACY)
    lines = str(outcome).splitlines()
    assert len(lines) == LINES == 15
    assert lines[0].startswith(f"racy: {len(outcome.all_findings)} errors: ")
    assert all("error[" in line for line in lines[1:-1])
    shown = len(lines) - 2
    assert lines[-1] == f"  and {len(outcome.all_findings) - shown} more; print(result.text) shows all"
    assert outcome.text.count("error[") == len(outcome.all_findings) == RACES


@pytest.mark.parametrize("of", [ran, explored])
def test_a_clean_outcome_is_one_line(of: Callable[[str], Outcome]) -> None:
    outcome = of(CLEAN)
    outcome.assert_clean()
    assert len(str(outcome).splitlines()) == 1
    assert "no findings: " in str(outcome)
    assert json.loads(outcome.to_json())["problems"] == []


@pytest.mark.parametrize("of", [ran, explored])
def test_the_assertion_is_the_findings_as_the_terminal_shows_them(of: Callable[[str], Outcome]) -> None:
    outcome = of(RACY)
    with pytest.raises(AssertionError) as failed:
        outcome.assert_clean()
    assert all(str(finding) in str(failed.value) for finding in outcome.all_findings)
    with pytest.raises(AssertionError, match="global-race"):
        outcome.assert_clean(allow=("lane-race",))
    outcome.assert_clean(allow=("global-race", "lane-race"))
    with pytest.raises(LaunchError, match="no rule global-rase"):
        outcome.assert_clean(allow=("global-rase",))


@pytest.mark.parametrize("of", [ran, explored])
def test_json_is_a_report_of_all_findings(of: Callable[[str], Outcome]) -> None:
    outcome = of(RACY)
    report = json.loads(outcome.to_json())
    jsonschema.validate(report, SCHEMA)
    assert [each["message"] for each in report["problems"]] == [each.message for each in outcome.all_findings]
    assert report["problems"][0]["positions"][0]["line"] == outcome.all_findings[0].line


def test_a_run_that_an_error_ended_is_not_clean() -> None:
    outcome = explored(TRAPS)
    assert not outcome.clean
    assert "4 runs ended by an error" in str(outcome)
    with pytest.raises(AssertionError, match="executed trap"):
        outcome.assert_clean()
    assert "executed trap" in json.loads(outcome.to_json())["unreadable"][0]["message"]


def test_the_summary_of_a_simulation_lists_its_outputs() -> None:
    x: Any = np.arange(8, dtype=np.uint32)
    result = simulate(Scale(), x, by=3)
    assert str(result).splitlines()[1:] == ["  output 0: uint32 [8]"]
    result.assert_clean()


HOSTILE = '</summary></pre><script>alert("x")</script><img src=x onerror=alert(1)>&amp;'


class Texts(HTMLParser):
    """The texts of a page, and the names of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"class", "style"}
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("of", [ran, explored])
def test_a_notebook_shows_every_finding_and_no_markup_of_a_kernel(of: Callable[[str], Outcome]) -> None:
    page = Texts()
    page.feed(of(RACY)._repr_html_())
    outcome = of(RACY)
    assert all(str(finding) in page.text for finding in outcome.all_findings)
    assert page.elements.count("details") == len(outcome.all_findings)
    frames = (Frame(HOSTILE, 3, HOSTILE),)
    finding = Finding("global-race", HOSTILE, 3, frames, label=HOSTILE, notes=(HOSTILE,), help=HOSTILE)
    hostile = Result((finding,), Statistics(1, 1, 1, 1, 1), HOSTILE, HOSTILE)
    page = Texts()
    page.feed(hostile._repr_html_())
    assert set(page.elements) == {"div", "style", "p", "b", "details", "summary", "span", "pre"}
    assert page.text.count(HOSTILE) >= 6
    assert json.loads(hostile.to_json())["problems"][0]["help"] == HOSTILE


def test_hostile_texts_do_not_change_a_terminal() -> None:
    """A file name or message may contain an escape sequence, which would clear the screen or hide a finding."""
    escape = "\x1b[2J\x1b]0;title\x07"
    finding = Finding(
        "global-race", f"race {escape}", 3, (Frame(f"k{escape}.py", 3, "f"),), notes=(escape,), help=escape
    )
    hostile = Result((finding,), Statistics(1, 1, 1, 1, 1), "", f"k{escape}")
    for text in (str(hostile), hostile.text):
        assert "\x1b" not in text
        assert "\x07" not in text


def test_a_notebook_shows_the_timeline_that_a_run_drew(tmp_path: Path) -> None:
    path = tmp_path / "run.svg"
    result = run(CLEAN, grid=1, block=64, trace=path)
    assert result.timeline is not None
    assert path.read_text(encoding="utf-8") == f"{result.timeline}\n"
    assert result.timeline in result._repr_html_()
    assert result == run(CLEAN, grid=1, block=64)
    assert run(CLEAN, grid=1, block=64, trace=tmp_path / "run.json").timeline is None
