"""Hover texts and completions of `ptx.inst` in pyright's language server, requested as an editor does."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .language_server import LanguageServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.scaled(3)

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(ROOT.glob("examples/*/*.py"))
FLAGS = {"reportArgumentType", "reportAttributeAccessIssue", "reportCallIssue", "reportIndexIssue"}
SERVER = Path(sysconfig.get_path("scripts")) / "pyright-langserver"
SOURCE = """\
from pyptx import ptx, reg
from pyptx.types import pred, u32, u64
value, pointer, done = reg.scalar(u32), reg.scalar(u64), reg.scalar(pred)
ptx.inst.mbarrier.try_wait.parity.shared__cta.b64(done, ptx.addr(pointer), value)
ptx.inst.shfl.sync.bfly.b32(value, value, 1, 31, -1)
ptx.inst.ld.global_.v2.u32([value, value], ptx.addr(pointer))
ptx.inst.mbarrier.try_wiat.parity.b64(value)
ptx.inst.mad.lo.u32(value, value, 3)
ptx.inst["shfl.b32.sync.bfly"](value, value, 1, 31, -1)
ptx.inst.cp.async_.
"""
LINES = SOURCE.splitlines()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with one user's file; return the path of the file."""
    folder = tmp_path_factory.mktemp("project")
    sources = [str(path) for path in (ROOT, *sorted(ROOT.glob("packages/*/src")))]  # import paths for pyright's check
    settings = f'[tool.pyright]\ntypeCheckingMode = "strict"\nextraPaths = {sources}\n'
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    path = folder / "user.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def server(document: Path) -> Iterator[LanguageServer]:
    """Yield a language server that has opened the user's file."""
    with LanguageServer([sys.executable, str(SERVER), "--stdio"], document.parent) as running:
        running.open(document)
        yield running


def place(line: int, word: str) -> tuple[int, int]:
    """Return the position of a word in a line of the file, counted from 0."""
    return line, LINES[line].index(word)


def end(line: int) -> tuple[int, int]:
    """Return the position after the last character of a line of the file."""
    return line, len(LINES[line])


@pytest.mark.long
def test_every_word_of_an_instruction_is_offered_at_the_dot_before_it(server: LanguageServer, document: Path) -> None:
    call, _, _ = LINES[3].partition("(")
    words = call.split(".")
    for count in range(2, len(words)):
        column = len(".".join(words[:count])) + 1
        assert words[count] in server.completions(document, 3, column), words[count]


def test_every_word_that_can_follow_is_offered_and_no_other(server: LanguageServer, document: Path) -> None:
    offered = [name for name in server.completions(document, *end(9)) if not name.startswith("__")]
    assert {"ca", "cg", "commit_group", "wait_group", "wait_all", "mbarrier"} <= set(offered)
    assert not {"add", "u32", "sync"} & set(offered)


@pytest.mark.parametrize(
    ("line", "word", "shown"),
    [
        (
            3,
            "try_wait",
            ("Wait a limited time for a phase of an mbarrier", "mbarrier.try_wait", "(PTX 7.8, sm_90 or later)"),
        ),
        (3, "b64(", ("Wait a limited time for a phase of an mbarrier", "[addr], parity", "(PTX 7.8, sm_90 or later)")),
        (4, "sync", ("the lanes of a warp in a membermask.", "`shfl.sync.mode.b32 d{|p}, a, b, c, membermask`")),
        (4, "b32(", ("the lanes of a warp in a membermask.", "`shfl.sync.mode.b32 d{|p}, a, b, c, membermask`")),
    ],
)
def test_a_word_shows_summary_syntax_version_and_targets(
    server: LanguageServer, document: Path, line: int, word: str, shown: tuple[str, ...]
) -> None:
    text = server.hover(document, *place(line, word)).replace("\\_", "_")  # Markdown escapes the underscore of sm_90
    assert [each for each in shown if each not in text] == [], text


def test_the_last_word_shows_the_operands_too(server: LanguageServer, document: Path) -> None:
    shown = server.hover(document, *place(7, "u32("))
    assert all(each in shown for each in ("d: Result", "a: Value", "b: Value", "c: Value", "-> Reg"))
    assert "`mad.mode.type d, a, b, c` (PTX 1.0, any target)" in shown


def test_an_opcode_of_several_instructions_says_what_each_does(server: LanguageServer, document: Path) -> None:
    shown = server.hover(document, *place(9, "cp"))
    assert "`cp.async.wait_group`: Wait until" in shown


def test_a_call_shows_its_operands_by_the_names_of_the_manual(server: LanguageServer, document: Path) -> None:
    line, column = place(4, "value, value")
    shown = server.signatures(document, line, column)
    operands = "a: Value, b: Value, c: Value, membermask: Value, /, *, pred: Guard = None"
    assert [each["label"] for each in shown] == [
        f"(d: Result, {operands}) -> Reg",
        f"(d: TwoResults, {operands}) -> None",
    ]
    assert "`shfl.sync.mode.b32 d{|p}, a, b, c, membermask`" in str(shown[0]["documentation"])


def test_what_is_wrong_is_flagged_where_it_stands_and_nothing_else(server: LanguageServer, document: Path) -> None:
    found = {(each["range"]["start"]["line"], each["code"]) for each in server.diagnostics(document) if "code" in each}
    assert (6, "reportAttributeAccessIssue") in found
    assert (7, "reportCallIssue") in found
    assert {line for line, _ in found} <= {6, 7, 9}
    (typo,) = (each for each in server.diagnostics(document) if each.get("code") == "reportAttributeAccessIssue")
    assert typo["range"]["start"] == {"line": 6, "character": LINES[6].index("try_wiat")}
    assert "try_wiat" in typo["message"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_examples_have_nothing_that_an_editor_would_flag(
    server: LanguageServer, document: Path, example: Path
) -> None:
    copy = document.with_name(f"{example.parent.name}_{example.name}")
    copy.write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    server.open(copy)
    flagged = [each for each in server.diagnostics(copy) if each.get("code") in FLAGS]
    assert [f"{each['range']['start']['line'] + 1}: {each['message']}" for each in flagged] == []
