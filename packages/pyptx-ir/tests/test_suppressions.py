"""Suppressions files: entries match the statement, not its line number; invalid files have one clear error."""

from __future__ import annotations

import io
import json
import pickle
import tomllib
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import main
from pyptx_ir.reports import Position, Problem, Report, render
from pyptx_ir.suppressions import UNUSED, Run, SuppressionError, Suppressions
from pyptx_ir.suppressions.reading import read
from pyptx_ir.suppressions.writing import suppression_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

RULE = "guard"  # a rule that pyptx-ir itself has
KERNEL = "def kernel(x):\n    total = load(x)\n    store(x, total)\n    total = load(x)\n"
HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with the file kernel.py."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernel.py").write_text(KERNEL)
    return tmp_path


def problem(line: int = 3, rule: str = RULE, file: str = "kernel.py", other: int | None = None) -> Problem:
    """Return an error at a line of a file, and at a second line of that file if `other` is given."""
    positions = [Position(file, each, label="access", function="kernel") for each in (line, other) if each is not None]
    return Problem("k.ptx", rule, "error", "fault", tuple(positions))


def suppressions(folder: Path, text: str) -> Suppressions:
    """Return the suppressions of a file `s.toml` with this text."""
    (folder / "s.toml").write_text(text)
    return Suppressions.load(folder / "s.toml")


def entry(fields: str, rule: str = RULE) -> str:
    """Return an entry with a reason."""
    return f'[[suppression]]\nrule = "{rule}"\nreason = "reviewed"\n{fields}\n'


def is_accepted(found: Suppressions, problem: Problem, run: Run | None = None) -> bool:
    """Return whether a problem is suppressed."""
    (marked,) = found.apply([problem], run)
    return marked.suppressed == "reviewed"


# --- matching ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ('file = "kernel.py"', {1, 2, 3, 4}),
        ('file = "kernel.py"\nline = 3', {3}),
        ('file = "kernel.py"\ncode = "store(x, total)"', {3}),
        ('file = "kernel.py"\nline = 99\ncode = "store(x, total)"', {3}),
        ('file = "kernel.py"\nline = 1\ncode = "total = load(x)"', {2}),
        ('file = "kernel.py"\nline = 3\ncode = "total = load(x)"', {2}),
        ('file = "kernel.py"\nline = 5\ncode = "total  =  load(x)"', {4}),
        ('file = "kernel.py"\nline = 3\ncode = "gone()"', set[int]()),
        ('file = "./kernel.py"\nfunction = "kernel"', {1, 2, 3, 4}),
        ('file = "kernel.py"\nfunction = "other"', set[int]()),
        ('file = "other.py"\nline = 3', set[int]()),
    ],
)
def test_an_entry_matches_the_statement_nearest_to_its_line(folder: Path, fields: str, lines: set[int]) -> None:
    found = suppressions(folder, entry(fields))
    assert {line for line in range(1, 5) if is_accepted(found, problem(line))} == lines
    assert not is_accepted(found, problem(3, rule="target"))


def test_an_entry_survives_edits_around_its_statement_and_not_of_it(folder: Path) -> None:
    found = suppressions(folder, text_of(suppression_of(problem(3), ".", "reviewed")))
    (folder / "kernel.py").write_text("import math\n\n\n" + KERNEL.replace("    store", "\tstore"))
    assert is_accepted(found, problem(6))
    assert not is_accepted(found, problem(3))
    (folder / "kernel.py").write_text(KERNEL.replace("store(x, total)", "store(x, 2 * total)"))
    assert not is_accepted(found, problem(3))


def test_a_file_that_cannot_be_read_is_matched_by_line_and_function(folder: Path) -> None:
    absent = problem(3, file="absent.cu")
    written = suppression_of(absent, ".", "reviewed")
    found = suppressions(folder, text_of(written))
    assert (written.at.line, written.at.code, written.at.function) == (3, None, "kernel")
    assert is_accepted(found, absent)
    assert not is_accepted(found, problem(4, file="absent.cu"))


@pytest.mark.parametrize("fields", ['file = "kernel.py"\nline = 3\nother = { file = "kernel.py", line = 2 }'])
def test_two_accesses_match_in_either_order(folder: Path, fields: str) -> None:
    found = suppressions(folder, entry(fields))
    assert is_accepted(found, problem(3, other=2))
    assert is_accepted(found, problem(2, other=3))
    assert not is_accepted(found, problem(3, other=4))
    assert not is_accepted(found, problem(3))


def test_an_entry_with_one_line_matches_either_access(folder: Path) -> None:
    found = suppressions(folder, entry('file = "kernel.py"\nline = 3'))
    assert is_accepted(found, problem(3, other=2))
    assert is_accepted(found, problem(2, other=3))
    assert not is_accepted(found, problem(2, other=4))


def test_an_entry_of_a_kernel_matches_in_its_runs_only(folder: Path) -> None:
    found = suppressions(folder, entry('kernel = "sums"'))
    assert is_accepted(found, problem(), Run("sums"))
    assert not is_accepted(found, problem(), Run("others"))
    assert not is_accepted(found, problem())


def test_a_problem_without_a_line_is_suppressed_by_its_input(folder: Path) -> None:
    unwritten = Problem("k.py:kernel", RULE, "error", "output not written")
    found = suppressions(folder, text_of(suppression_of(unwritten, ".", "reviewed")))
    assert is_accepted(found, unwritten)
    assert not is_accepted(found, Problem("k.py:other", RULE, "error", "output not written"))


def test_files_are_relative_to_the_suppressions_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "ci").mkdir()
    found = suppressions(folder / "ci", entry('file = "../kernel.py"\nline = 3'))
    assert is_accepted(found, problem(3))
    monkeypatch.chdir(folder / "ci")
    relative = Suppressions.load("s.toml")
    assert is_accepted(relative, problem(3, file="../kernel.py"))
    monkeypatch.chdir(folder)
    assert is_accepted(relative, problem(3))


def test_a_file_of_an_installed_package_matches_in_every_environment(folder: Path) -> None:
    installed = problem(7, file="/env/lib/python3.12/site-packages/liger/ops.py")
    text = text_of(suppression_of(installed, ".", "reviewed"))
    assert 'file = "site-packages/liger/ops.py"' in text
    found = suppressions(folder, text)
    assert is_accepted(found, problem(7, file="/other/python3.13/site-packages/liger/ops.py"))
    assert not is_accepted(found, problem(7, file="/other/python3.13/site-packages/liger/more/ops.py"))


@pytest.mark.parametrize("code", ['say("\\\\ \x7f é 𝄞")', "x = ']]'  # [[suppression]]", "\ttab\there"])
def test_a_written_entry_matches_its_problem_whatever_the_code(folder: Path, code: str) -> None:
    (folder / "kernel.py").write_text(f"\n{code}\n", encoding="utf-8")
    for found in (problem(2), problem(2, other=2)):
        text = text_of(suppression_of(found, ".", "reviewed"))
        assert len(tomllib.loads(text)["suppression"]) == 1
        assert is_accepted(suppressions(folder, text), found)


# --- unused entries ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "unused"),
    [
        (Run("k", ("kernel.py",), frozenset({RULE})), 1),
        (Run("k", ("other.py",), frozenset({RULE})), 0),
        (Run("k", ("kernel.py",), frozenset({"target"})), 0),
        (None, 0),
    ],
)
def test_an_entry_is_unused_if_a_run_could_have_matched_it(folder: Path, run: Run | None, unused: int) -> None:
    found = suppressions(folder, "\n" + entry('file = "kernel.py"\nline = 3'))
    found.apply([problem(4)], run)
    assert [(each.rule, each.severity, str(each.positions[0])) for each in found.unused()] == (
        [(UNUSED, "warning", f"{folder / 's.toml'}:2")] if unused else []
    )
    assert [each.severity for each in found.unused("error")] == ["error"] * unused
    found.apply([problem(3)])
    assert found.unused() == ()


def test_records_of_processes_unite(folder: Path) -> None:
    text = entry('file = "kernel.py"\nline = 3') + entry('file = "kernel.py"\nline = 4')
    found = suppressions(folder, text)
    worker = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
    worker.apply([problem(3)], Run("k", ("kernel.py",), frozenset({RULE})))
    found.used.update(worker.used)
    found.tried.update(worker.tried)
    assert [each.positions[0].line for each in found.unused()] == [6]


# --- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[suppression]\n", "s.toml:1: invalid TOML: "),
        ('\nx = "\n', "s.toml:2: invalid TOML: "),
        ("x = [", "s.toml:1: invalid TOML: "),
        ("\n" + entry('file = "a.py"').replace("reviewed", " "), f"s.toml:2: the suppression of {RULE} has no reason"),
        (f'[[suppression]]\nrule = "{RULE}"\nfile = "a.py"\n', "s.toml:1: the suppression of guard has no reason"),
        (
            entry('file = "a.py"') + entry('file = "a.py"', rule="gaurd"),
            "s.toml:5: unknown rule 'gaurd'\nhelp: did you",
        ),
        (
            entry('file = "a.py"', rule="no such rule"),
            "s.toml:1: unknown rule 'no such rule'\nhelp: pyptx explain --li",
        ),
        ('[[suppression]]\nfile = "a.py"\nreason = "x"\n', "s.toml:1: an entry needs a rule"),
        (entry(""), "s.toml:1: an entry needs the file or the kernel"),
        (entry('kernel = "k"\nline = 3'), "s.toml:1: an entry needs the file or the kernel"),
        (entry('file = "a.py"\nlines = 3'), "s.toml:1: unknown key 'lines'\nhelp: use one of: line"),
        (entry('file = "a.py"\nline = "3"'), "s.toml:1: line must be a line number, 1 or more, got '3'"),
        (entry('file = "a.py"\nline = 0'), "s.toml:1: line must be a line number, 1 or more, got 0"),
        (entry('file = "a.py"\nline = true'), "s.toml:1: line must be a line number, 1 or more, got True"),
        (entry('file = "a.py"\nother = { kernel = "k" }'), "s.toml:1: unknown key 'kernel'"),
        (entry('file = "a.py"\nother = 3'), "s.toml:1: other must be a table, got 3"),
        ("suppression = [1]\n", "s.toml:1: expected a table"),
        ("suppression = 1\n", "s.toml:1: unknown key 'suppression'\nhelp: write each entry as [[suppression]]"),
        ('rule = "guard"\n', "s.toml:1: unknown key 'rule'"),
    ],
)
def test_an_invalid_file_has_an_error_with_its_line(text: str, message: str) -> None:
    with pytest.raises(SuppressionError) as raised:
        read(text, "s.toml")
    assert str(raised.value).startswith(message)


def test_a_file_without_entries_suppresses_nothing(folder: Path) -> None:
    assert not is_accepted(suppressions(folder, "# nothing yet\n"), problem())


# --- commands ---------------------------------------------------------------------------------------


def reported(problems: list[Problem], style: str = "json") -> str:
    """Return the JSON report of problems, as a command prints it."""
    return render(Report("pyptx sim", ("k.ptx",), tuple(problems)), style)


def test_suppress_appends_entries_and_keeps_those_of_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    note = Problem("k.ptx", RULE, "note", "benign", (Position("kernel.py", 1),))
    monkeypatch.setattr("sys.stdin", io.StringIO(reported([problem(3), problem(3), note])))
    assert main(["suppress"]) == 0
    written = (folder / "pyptx-suppressions.toml").read_text()
    assert capsys.readouterr().out == "1 suppression added to pyptx-suppressions.toml; write the reason of each\n"
    assert 'code = "store(x, total)"\nreason = ""\n' in written
    with pytest.raises(SuppressionError, match=r"toml:3: the suppression of guard has no reason"):
        Suppressions.load("pyptx-suppressions.toml")
    (folder / "pyptx-suppressions.toml").write_text(written.replace('""', '"safe"  # checked by hand'))
    (folder / "report.json").write_text(reported([problem(3), problem(1, other=2)]))
    assert main(["suppress", "report.json", "--reason", "reviewed"]) == 0
    assert capsys.readouterr().out == "1 suppression added to pyptx-suppressions.toml\n"
    again = (folder / "pyptx-suppressions.toml").read_text()
    assert again.startswith(written.replace('""', '"safe"  # checked by hand'))
    found = Suppressions.load("pyptx-suppressions.toml")
    assert [(each.at.line, each.other and each.other.line, each.reason) for each in found.entries] == [
        (3, None, "safe"),
        (1, 2, "reviewed"),
    ]


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "{}", '{"problems": [{}]}'])
def test_suppress_rejects_what_is_not_a_report(
    folder: Path, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["suppress"]) == 2
    assert "standard input is not a JSON report\nhelp: pass the output of --format json" in capsys.readouterr().err
    assert not (folder / "pyptx-suppressions.toml").exists()


CHECKED = HEADER + '.entry k() { .reg .b32 %r<2>;\n.loc 1 3 1\n@%r0 mov.b32 %r1, 0;\nret; }\n.file 1 "kernel.py"\n'


@pytest.mark.parametrize("style", ["text", "json", "ndjson", "github", "sarif", "junit"])
def test_check_accepts_suppressed_errors_in_every_format(
    style: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "k.ptx").write_text(CHECKED)
    assert main(["check", "k.ptx", "--json", "-o", "report.json"]) == 1
    assert main(["suppress", "report.json", "--reason", "reviewed"]) == 0
    capsys.readouterr()
    options = ["check", "k.ptx", "--format", style, "--suppressions", "pyptx-suppressions.toml"]
    assert main(options) == 0
    shown = capsys.readouterr().out
    if style == "text":
        assert shown == "1 file, 0 errors, 0 warnings\n1 suppressed by pyptx-suppressions.toml\n"
    elif style in {"json", "ndjson"}:
        found = json.loads(shown)
        assert (found["counts"]["error"], found["counts"]["suppressed"]) == (0, 1)
        assert found["problems"][0]["suppressed"] == "reviewed"
    (folder / "k.ptx").write_text(CHECKED.replace("@%r0 ", ""))
    assert main(options) == 0
    assert (UNUSED in capsys.readouterr().out) == (style != "ndjson")
    assert main([*options, "--strict-suppressions"]) == 1


def test_an_invalid_suppressions_file_is_a_usage_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "k.ptx").write_text(CHECKED)
    (folder / "s.toml").write_text(entry('file = "kernel.py"').replace("reviewed", ""))
    assert main(["check", "k.ptx", "--suppressions", "s.toml"]) == 2
    assert capsys.readouterr().err.startswith("pyptx check: s.toml:1: the suppression of guard has no reason\nhelp: ")
    assert main(["check", "k.ptx", "--suppressions", "absent.toml"]) == 2
    assert capsys.readouterr().err == "pyptx check: absent.toml: no such file or directory\n"
