"""`pyptx diff`: exit status, text, JSON, and time linear in the input size."""

from __future__ import annotations

import io
import json
import random
import sys
import time
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest

from pyptx_diff import compare
from pyptx_ir.commands import main
from pyptx_ir.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n\t.reg .b32 %r<999>;\n"
BODY = "\tmov.u32 %r1, %tid.x;\n\tadd.s32 %r2, %r1, 4;\n\tret;\n}\n"
TEXT = HEAD + BODY
REPORT = """\
--- {}
+++ {}
@@ entry k @@
  7  7  mov.u32 %r1, %tid.x;
- 8     add.s32 %r2, %r1, 4;
+    8  add.s32 %r2, %r1, 5;
!         operand 3: 4 → 5
  9  9  ret;
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str, str]:
    """Write three PTX files: a module, the same with renamed registers, and one with a changed operand."""
    texts = {"a": TEXT, "same": TEXT.replace("%r", "%other"), "b": TEXT.replace(", 4", ", 5")}
    for name, text in texts.items():
        (tmp_path / f"{name}.ptx").write_text(text)
    first, second, third = (str(tmp_path / f"{name}.ptx") for name in texts)
    return first, second, third


def test_the_exit_status_is_that_of_diff(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    one, same, other = files
    assert main(["diff", one, same]) == 0
    assert capsys.readouterr().out == ""
    assert main(["diff", "-U1", one, other]) == 1
    assert capsys.readouterr().out.splitlines()[3:] == REPORT.splitlines()[3:]
    assert main(["diff", "-q", one, other]) == 1
    assert capsys.readouterr().out == ""
    assert main(["diff", one, f"{one}.none"]) == 2
    assert "none" in capsys.readouterr().err


def test_the_modules_that_are_chosen_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listing, plain = tmp_path / "kernels.txt", tmp_path / "k.ptx"
    heading = (
        "\nFatbin ptx code:\n================\narch = {}\ncode version = [9,0]\nhost = linux\ncompile_size = 64bit\n"
    )
    other = TEXT.replace("sm_90a", "sm_100a").replace("entry k", "entry other")
    listing.write_text(f"{heading.format('sm_90a')}{TEXT}{heading.format('sm_100a')}{other}")
    plain.write_text(TEXT)
    assert main(["diff", f"{listing}#1", str(plain)]) == 0
    assert main(["diff", str(listing), str(plain), "--arch", "sm_90a"]) == 0
    assert main(["diff", str(listing), str(plain)]) == 2
    assert "contains 2 PTX modules" in capsys.readouterr().err
    assert main(["diff", f"{listing}#2", str(plain)]) == 1
    assert f"--- {listing}#2" in capsys.readouterr().out


def test_the_command_writes_to_streams_without_bytes(files: tuple[str, str, str]) -> None:
    one, _, other = files
    with redirect_stdout(io.StringIO()) as compared:  # as in a notebook
        assert main(["diff", one, other]) == 1
    assert "operand 3: 4 → 5" in compared.getvalue()


def test_trouble_is_told_in_a_line(
    tmp_path: Path, files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.ptx"
    wrong.write_text(HEAD + "\tadd")
    for words in (
        [],
        ["-", "-"],
        [files[0]],
        [files[0], str(wrong)],
        ["-U", "-1", *files[:2]],
        ["--wrong", *files[:2]],
    ):
        assert main(["diff", *words]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err


def test_the_report_reads_like_a_diff(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    one, _, other = files
    assert main(["diff", "-U1", one, other]) == 1
    assert capsys.readouterr().out == REPORT.format(one, other)
    assert main(["diff", "-U0", "--color=always", one, other]) == 1
    shown = capsys.readouterr().out
    assert "\x1b[31m- 8     add.s32 %r2, %r1, 4;\x1b[m\n" in shown
    assert "\x1b[32m+    8  add.s32 %r2, %r1, 5;\x1b[m\n" in shown


def test_standard_input_is_either_file(
    files: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, status in ((["-", files[1]], 0), ([files[2], "-"], 1)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert main(["diff", *words]) == status
    capsys.readouterr()


def test_json_says_everything(files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    one, same, other = files
    assert main(["diff", "--json", one, other]) == 1
    change = {
        "kind": "changed",
        "before": {"line": 8, "text": "add.s32 %r2, %r1, 4;"},
        "after": {"line": 8, "text": "add.s32 %r2, %r1, 5;"},
        "reasons": ["operand 3: 4 → 5"],
    }
    part = {"kind": "entry", "before": "k", "after": "k", "changes": [change]}
    found = json.loads(capsys.readouterr().out)
    assert found["details"] == {"schema": 1, "same": False, "parts": [part]}
    assert found["inputs"] == [one, other]
    (problem,) = found["problems"]
    assert problem["message"] == "changed: add.s32 %r2, %r1, 4; → add.s32 %r2, %r1, 5;"
    assert [(each["file"], each["line"]) for each in problem["positions"]] == [(other, 8), (one, 8)]
    assert main(["diff", "--json", "--renames", one, same]) == 0
    renamings = [{"kind": "register", "before": f"%r{i}", "after": f"%other{i}", "function": "k"} for i in (1, 2)]
    found = json.loads(capsys.readouterr().out)
    assert found["details"] == {"schema": 1, "same": True, "parts": [], "renamings": renamings}
    assert found["problems"] == []


def test_renames_are_listed_when_they_are_asked_for(
    files: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", "--renames", *files[:2]]) == 0
    assert "register %r1 → %other1 in k\n" in capsys.readouterr().out


# --- cost -------------------------------------------------------------------------------------------

CHANCE = random.Random(0)
OPCODES = [f"{name}.{kind}" for name in ("add", "sub", "mul.lo", "min", "max") for kind in ("s32", "u32")]


def module(count: int, line: Callable[[int], str]) -> str:
    return HEAD + "".join(f"\t{line(i)};\n" for i in range(count)) + "}\n"


def usual(i: int) -> str:
    return f"{OPCODES[i * i % 10]} %r{i % 997}, %r{i * 7 % 997}, {i % 5000}"


def drawn(_: int) -> str:
    return f"{CHANCE.choice(OPCODES[:2])} %r1, %r2, 3"


HOSTILE: dict[str, tuple[Callable[[int], str], Callable[[int], str]]] = {
    "unrelated": (usual, lambda i: usual(i * 31 + 5)),
    "backwards": (usual, lambda i: usual(10_000 - i % 10_000)),
    "one shape": (lambda i: f"add.s32 %r{i % 9}, %r1, %r2", lambda i: f"add.s32 %r1, %r{i % 7}, %r{i % 3}"),
    "two shapes": (drawn, drawn),
    "periods": (lambda i: f"{OPCODES[i % 7]} %r1, %r2, 3", lambda i: f"{OPCODES[i % 8]} %r1, %r2, 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.long
def test_hostile_pairs_take_time_in_proportion(name: str) -> None:
    """Four times as much PTX may take eight times as long; quadratic time would be sixteen times."""
    left, right = HOSTILE[name]
    seconds: list[float] = []
    for count in (1_000, 4_000):
        pair = parse(module(count, left)), parse(module(count, right))
        started = time.process_time()
        assert not compare(*pair).same
        seconds.append(time.process_time() - started)
    assert seconds[1] <= 8 * max(seconds[0], 0.2)


@pytest.mark.long
def test_an_edited_copy_of_a_large_module_is_compared_in_seconds() -> None:
    lines = [usual(i) for i in range(20_000)]
    edited = [line.replace("%r", "%q") for line in lines]
    edited[7_000] = edited[7_000].replace(", ", ", %q5, ", 1)
    del edited[12_000]
    other = HEAD.replace("%r", "%q") + "".join(f"\t{line};\n" for line in edited) + "}\n"
    pair = parse(module(20_000, usual)), parse(other)
    started = time.process_time()
    found = list(compare(*pair).changes())
    assert time.process_time() - started <= 5.0
    assert [change.kind for change in found] == ["changed", "removed"]
    assert [change.before and change.before.line for change in found] == [7_007, 12_007]
