"""Reports in the formats of `--format`, validated against their schemas, with texts that break careless writers."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from junitparser import JUnitXml
from sarif_pydantic import Sarif

from pyptx_ir.commands import main
from pyptx_ir.reports import FORMATS, Position, Problem, Report, Unreadable, render

if TYPE_CHECKING:
    from pathlib import Path

GOOD = ".version 8.5\n.target sm_90a\n.address_size 64\n"
BAD = GOOD + ".func f()\n{\nadd.s32 %r1, , %r2;\nret;\nsub.s32 %r1 %r2;\n}\n"
SCHEMA = json.loads(files("pyptx_ir").joinpath("reports/report.schema.json").read_text(encoding="utf-8"))
HOSTILE = 'a "b" <c> & ]]> 100%,\r\n::error::x \x1b[31m\x00 é 𝄞 </script>'
RACE = Problem(
    "k.ptx",
    "shared-race",
    "error",
    HOSTILE,
    (
        Position(
            *("my kernels/k.py", 7, 3, 9, HOSTILE, HOSTILE),
            calls=(Position("f.h", 2, function="f<int>"), Position("g.h", 3, function="g")),
            callers=(Position("main.cu", 5, function="main"),),
        ),
        Position("k.ptx", 2),
        Position("k.ptx", 9, label="write"),
    ),
    (HOSTILE, "second note"),
    HOSTILE,
    count=32,
)
ACCEPTED = Problem("good.ptx", "global-race", "error", "benign", (Position("good.ptx", 3),), suppressed=HOSTILE)
NOTE = Problem("k.ptx", "element-type", "note", "no line")
WARNING = Problem("/x/b.ptx", "unused", "warning", "plain", (Position("/x/b.ptx", 1),))
REPORT = Report(
    "pyptx sim",
    ("k.ptx", "/x/b.ptx", "good.ptx", "gone.ptx"),
    (RACE, NOTE, WARNING, ACCEPTED),
    (Unreadable("gone.ptx", HOSTILE),),
    {"shared-race": "two accesses of shared memory race", "deadlock": "no warp can make progress"},
    {"ctas": 8},
)
EMPTY = Report("pyptx check", ("good.ptx",))


@pytest.mark.parametrize("report", [REPORT, EMPTY], ids=["problems", "none"])
def test_json_is_valid_and_has_all_texts_unchanged(report: Report) -> None:
    found = json.loads(render(report, "json"))
    jsonschema.validate(found, SCHEMA)
    assert found["inputs"] == list(report.inputs)
    assert [each["message"] for each in found["problems"]] == [each.message for each in report.problems]
    assert sum(found["counts"].values()) == len(report.problems)
    assert found["counts"]["error"] == len([each for each in report.problems if each is RACE])
    if report.problems:
        assert found["problems"][0]["positions"][0] == {
            "file": "my kernels/k.py",
            "line": 7,
            "column": 3,
            "end_column": 9,
            "label": HOSTILE,
            "function": HOSTILE,
            "calls": [
                {"file": "f.h", "line": 2, "label": "", "function": "f<int>"},
                {"file": "g.h", "line": 3, "label": "", "function": "g"},
            ],
            "callers": [{"file": "main.cu", "line": 5, "label": "", "function": "main"}],
        }


def test_the_schema_describes_every_field_and_no_other() -> None:
    found = json.loads(render(REPORT, "json"))
    assert set(found) == set(SCHEMA["properties"])
    assert {name for each in found["problems"] for name in each} == set(SCHEMA["$defs"]["problem"]["properties"])
    assert set(found["problems"][0]["positions"][0]) == set(SCHEMA["$defs"]["position"]["properties"])


@pytest.mark.parametrize("report", [REPORT, EMPTY], ids=["problems", "none"])
def test_sarif_is_valid(report: Report) -> None:
    log = Sarif.model_validate_json(render(report, "sarif"))
    assert [each.rule_id for each in log.runs[0].results or []] == [each.rule for each in report.problems]


def test_sarif_points_at_rules_and_lines() -> None:
    (run,) = json.loads(render(REPORT, "sarif"))["runs"]
    race, note, _, accepted = run["results"]
    assert accepted["suppressions"] == [{"kind": "external", "status": "accepted", "justification": HOSTILE}]
    assert "suppressions" not in race
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules[race["ruleIndex"]] == "shared-race"
    assert race["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "my%20kernels/k.py"},
        "region": {"startLine": 7, "startColumn": 3, "endColumn": 9},
    }
    assert [each["physicalLocation"]["region"]["startLine"] for each in race["relatedLocations"]] == [2, 9]
    (stack,) = race["stacks"]
    frames = [each["location"] for each in stack["frames"]]
    assert [each["physicalLocation"]["region"]["startLine"] for each in frames] == [3, 2, 7, 5]
    assert [each["logicalLocations"][0]["name"] for each in frames] == ["g", "f<int>", HOSTILE, "main"]
    assert note["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "k.ptx"}}
    assert run["artifacts"][1]["location"]["uri"] == "file:///x/b.ptx"
    assert run["invocations"][0]["executionSuccessful"] is False


def test_junit_has_a_case_per_input_and_its_failures() -> None:
    (suite,) = JUnitXml.fromstring(render(REPORT, "junit").encode())
    assert (suite.tests, suite.failures, suite.errors) == (4, 1, 1)
    cases = {case.name: case for case in suite}
    assert [type(each).__name__ for each in cases["k.ptx"].result] == ["Failure"]
    assert "my kernels/k.py:7:3: error[shared-race]" in cases["k.ptx"].result[0].text
    assert "element-type" in (cases["k.ptx"].system_out or "")
    assert [type(each).__name__ for each in cases["gone.ptx"].result] == ["Error"]
    assert cases["good.ptx"].result == []
    assert "global-race" in (cases["good.ptx"].system_out or "")
    assert cases["/x/b.ptx"].result == []


def test_a_line_for_github_is_one_command_whatever_the_text() -> None:
    lines = render(REPORT, "github").splitlines()
    assert [line.split()[0] for line in lines] == ["::error", "::notice", "::warning", "::error"]
    assert lines[0].startswith("::error file=my kernels/k.py,line=7,col=3,endColumn=9,title=error[shared-race]::a ")
    assert "100%25,%0D%0A::error::x" in lines[0]
    assert render(EMPTY, "github") == ""


@pytest.mark.parametrize("style", FORMATS)
def test_check_prints_every_format(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / name for name in ("good.ptx", "bad.ptx")]
    for path, text in zip(paths, (GOOD, BAD), strict=True):
        path.write_text(text)
    assert main(["check", "--format", style, *map(str, paths)]) == 1
    found = capsys.readouterr().out
    assert found.count("expected") >= 2
    assert {"json": 0, "sarif": 0, "github": 2, "junit": 1}[style] == found.count("::error") + found.count("<failure")


def test_the_short_form_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.ptx"
    path.write_text(BAD)
    shown: list[Any] = []
    for words in (["--json"], ["--format", "json"], ["--format=json"]):
        assert main(["check", *words, str(path)]) == 1
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0] == shown[1] == shown[2]
    assert [each["positions"][0]["line"] for each in shown[0]["problems"]] == [6, 8]
