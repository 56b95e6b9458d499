"""Colors, tables and highlighted code: on a terminal, in pipes, with and without rich and Pygments."""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import redirect_stdout, suppress
from importlib import util
from typing import TYPE_CHECKING

import pytest
from rich.text import Text

from pyptx_ir.commands import main
from pyptx_ir.terminal import colored, output_to, painted, styled, table, tables, write, write_code
from pyptx_ir.terminal.color import STYLES, plain

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [("one", "a first row with many words that does not fit in a line"), ("second", "short"), ("", "more")]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def usual_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the variables of the machine that runs the tests away."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("variables", "terminal", "pipe"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"TERM": "dumb", "FORCE_COLOR": "3"}, True, True),
    ],
)
def test_who_gets_colors(
    variables: dict[str, str], *, terminal: bool, pipe: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (colored(Terminal()), colored(io.StringIO())) == (terminal, pipe)


@pytest.mark.parametrize("style", STYLES)
def test_styles_are_ansi_sequences_that_end_with_the_text(style: str) -> None:
    shown = painted("[bold]words", style)
    assert Text.from_ansi(shown).plain == plain(shown) == "[bold]words"
    assert styled("words", style, io.StringIO()) == "words"


def test_messages_are_marked_and_keep_their_text() -> None:
    text = (
        "k.ptx:7:5: error[modifier]: help: no modifier\n7 | \tadd.u33;\n    \t   ^^^^\nhelp: note: did you mean .u32?\n"
        "warning[x]: note: y\n  note: 3 occurrences\npyptx check: error: z\nan error: no mark\n"
    )
    stream = Terminal()
    write(text, stream)
    shown = stream.getvalue()
    assert plain(shown) == text
    marked = [
        each.plain[part.start : part.end] for each in map(Text.from_ansi, shown.splitlines()) for part in each.spans
    ]
    assert marked == ["error[modifier]:", "^^^^", "help:", "warning[x]:", "note:", "error:"]
    pipe = io.StringIO()
    write(text, pipe)
    assert pipe.getvalue() == text


def test_columns_are_aligned_in_pipes() -> None:
    shown = table(ROWS, ("name", "words"), stream=io.StringIO())
    assert shown == f"name    words\none     {ROWS[0][1]}\nsecond  short\n        more\n"
    assert table([("a", "1"), ("b", "22")], right=[1], stream=io.StringIO()) == "a   1\nb  22\n"
    assert table([], ("name", "words"), stream=io.StringIO()) == "name  words\n"


@pytest.mark.parametrize("columns", [20, 40, 61, 62, 80])
def test_cells_are_wrapped_in_their_column_on_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [(painted(name, "name"), words) for name, words in ROWS]
    shown = table(rows, ("name", "words"), stream=Terminal())
    lines = plain(shown).splitlines()
    assert max(map(len, lines)) <= columns
    assert re.sub(r"\s+", " ", plain(shown)).split() == ["name", "words", *" ".join(map(" ".join, ROWS)).split()]
    assert {line[:8].rstrip() for line in lines} == {"name", "one", "second", ""}
    assert "\x1b[36msecond\x1b[" in shown


def test_without_rich_the_terminal_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(tables, "find_spec", lambda name: None if name == "rich" else util.find_spec(name))
    assert table(ROWS, stream=Terminal()) == table(ROWS, stream=io.StringIO())


class Binary(io.TextIOWrapper):
    """A text stream over bytes that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("text", [".version 8.0\n\n", "add.u32 %r1, %r1, 1;\n// \udce9\n", "", "no end of line"])
def test_code_is_highlighted_on_a_terminal_and_keeps_its_bytes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Binary(io.BytesIO(), encoding="utf-8", newline="")
    monkeypatch.setattr(sys, "stdout", stream)
    write_code(text, "pyptx")
    stream.flush()
    shown = stream.buffer.getvalue()  # type: ignore[attr-defined] # BytesIO
    assert re.sub(rb"\x1b\[[\d;]*m", b"", shown) == text.encode("utf-8", "surrogateescape")
    assert (b"\x1b" in shown) == any(map(str.isalpha, text.split(" ", maxsplit=1)[0].replace(".", "")))


def test_code_for_other_programs_has_no_colors(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    write_code("mov.u32 %r1, 0;\n", "pyptx")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == b"mov.u32 %r1, 0;\n"


def test_commands_write_to_streams_without_bytes(tmp_path: Path) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(".version 8.0\n.target sm_80\n.address_size 64\n")
    with redirect_stdout(io.StringIO()) as formatted:  # as in a notebook
        assert main(["fmt", str(file), "-o", "-"]) == 0
    assert ".target sm_80" in formatted.getvalue()


def test_help_has_headings_in_color(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["help", "check"]) == 0
    shown = capsys.readouterr().out
    assert painted("usage:", "heading") in shown
    assert painted("--target sm_XY", "name") in shown
    monkeypatch.delenv("FORCE_COLOR")
    assert main(["help", "check"]) == 0
    assert capsys.readouterr().out == plain(shown)


def test_formats_of_fmt_list_what_would_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.ptx", tmp_path / "bad.ptx"
    good.write_text(".version 8.0\n.target sm_80\n.address_size 64\n")
    bad.write_text(".version  8.0\n.target sm_80\n.address_size 64\n")
    assert main(["fmt", str(good)]) == 0
    assert main(["fmt", "--check", "--format", "github", str(good), str(bad), "gone.ptx"]) == 2
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        f"::error file={bad},line=1,title=error[unformatted]::formatting would change this file",
        "::error file=gone.ptx::gone.ptx: no such file or directory",
    ]
    assert main(["fmt", "--format", "json", str(good)]) == 2


def test_output_goes_to_a_file_without_colors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    file = tmp_path / "rule.txt"
    assert main(["explain", "modifier", "-o", str(file)]) == 0
    assert file.read_text(encoding="utf-8").startswith("error[modifier]: ")
    assert capsys.readouterr().out == ""
    before = file.read_bytes()
    assert main(["explain", "modifier", "--output=-"]) == 0
    assert plain(capsys.readouterr().out).encode() == before
    assert main(["check", "gone.ptx", "-o", str(file), "--json"]) == 2
    assert json.loads(file.read_text(encoding="utf-8"))["unreadable"][0]["input"] == "gone.ptx"


def test_a_file_is_kept_if_the_command_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kept.txt"
    file.write_text("before")
    assert main(["fmt", "gone.ptx", "-o", str(file)]) == 2
    assert file.read_text() == "before"
    assert main(["targets", "-o", str(tmp_path / "none" / "file")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main(["targets", "-o", str(tmp_path)]) == 2


def test_an_interrupt_keeps_what_was_printed(tmp_path: Path) -> None:
    file = tmp_path / "part.txt"
    with suppress(KeyboardInterrupt), output_to(str(file)):
        sys.stdout.write("first\n")
        raise KeyboardInterrupt
    assert file.read_text() == "first\n"
