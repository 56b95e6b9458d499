"""`pyptx ptx`, `sass`, `resources`, `layout` of kernels in Python files; such kernels as inputs of other commands."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from pyptx_dsl.kernels.loading import found_in_file
from pyptx_ir.commands import main

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32
"""
SCALED = """
@kernel(in_specs=(Tile("B", "N", f32),), out_specs=(Tile("B", "N", f32),), grid=lambda B: B, block=(32, 1, 1))
def scaled(X, Y, *, by=2.0):
    px, py = ptx.global_ptrs(X, Y)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px))
    ptx.inst.mul.f32(value, value, by)
    ptx.inst.st.global_.f32(ptx.addr(py), value)
    ptx.ret()
"""
EMPTY = """
@kernel(arch="sm_80")
def nothing():
    ptx.ret()
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "kernels.py"
    path.write_text(HEAD + SCALED)
    return str(path)


def test_the_ptx_of_a_file_is_that_of_the_kernel(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = found_in_file(file).kernel.ptx(B=4, N=32, by=3.0)
    for words in (
        [file, "--B", "4", "--N=32", "--by", "3.0"],
        [f"{file}:scaled", "--B=4", "--N=32", "--by=3.0"],
        [f"{file}:scaled:B=4,N=32,by=3.0"],
        [f"{file}::N=32", "--B", "4", "--by", "3.0"],
    ):
        assert main(["ptx", *words]) == 0
        assert capsys.readouterr().out == text


def test_a_missing_size_is_named_with_the_option_to_add(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ptx", file, "--N", "32"]) == 2
    assert capsys.readouterr().err == (
        f"pyptx ptx: scaled: no size for B\nhelp: add --B 16, or write {file}:scaled:N=32,B=16\n"
    )
    assert main(["check", file]) == 2
    assert "scaled: no size for B, N" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["ptx", "sass", "resources", "check", "fmt -o -"])
def test_an_unknown_option_is_a_size_or_an_option_whichever_is_closer(
    command: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*command.split(), file, "--B", "4", "--N", "32"]
    for name, first, close in (
        ("--ach", "unknown option --ach", "did you mean --arch?"),
        ("--bu", "scaled has no size or parameter bu", "did you mean --by?"),
        ("--width", "scaled has no size or parameter width", "sizes and parameters of scaled: --B, --N, --by"),
    ):
        assert main([*words, name, "3"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"pyptx {command.split(maxsplit=1)[0]}: {first}\nhelp: {close}\n")
        assert "sizes and parameters of scaled: --B, --N, --by\n  options: --help, " in said


def test_no_input_and_no_option_is_the_value_of_a_misspelled_option(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--jsn", file, "--B", "4"], [file, "--jsn", "--B", "4"], [file, "--jsn"]):
        assert main(["resources", *words]) == 2
        assert "--jsn is not an option; did you mean --json?" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--N", "8", "--N=16"], [":scaled:N=8", "--N=16"], [":scaled:N=8,N=16"]])
def test_a_size_with_two_values_is_an_error(words: list[str], file: str, capsys: pytest.CaptureFixture[str]) -> None:
    named = [f"{file}{words[0]}", *words[1:]] if words[0].startswith(":") else [file, *words]
    assert main(["ptx", *named, "--B", "4"]) == 2
    assert "N is given twice: 8 and 16" in capsys.readouterr().err
    assert main(["ptx", *(word.replace("N=16", "N=8") for word in named), "--B", "4"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--B=abc", "--N=8"], "scaled: size B must be an integer, got 'abc'"),
        (["--B=1e3", "--N=8"], "scaled: size B must be an integer, got '1e3'"),
        (["--B=-4", "--N=8"], "scaled: dimension B must be a positive int, got -4"),
        (["--B"], "--B has no value\nhelp: write --B VALUE"),
        (["--B=", "--N=8"], "--B has no value"),
    ],
)
def test_a_wrong_size_is_one_line(words: list[str], said: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ptx", file, *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "test_listings.py" not in error  # not the line of the program that runs the command


def test_other_commands_take_sizes_as_options(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--B", "4", "--N", "32"]
    assert main(["check", file, *sizes]) == 0
    assert main(["diff", "--quiet", file, f"{file}:scaled", *sizes]) == 0
    assert main(["fmt", "-o", "-", file, *sizes]) == 0
    assert ".entry scaled" in capsys.readouterr().out


def test_values_may_be_booleans_tuples_and_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "valued.py"
    path.write_text(
        HEAD
        + """
@kernel(arch="sm_80")
def valued(*, fast=True, dims=(1, 2), mode="rn", rows):
    print(repr((fast, dims, mode, rows)))
    ptx.ret()
"""
    )
    for words, shown in (
        (["--fast", "false", "--dims", "3,4", "--rows=1"], "(False, (3, 4), 'rn', 1)"),
        (["--rows=1", "--dims=(3, 4)", "--mode=a, b"], "(True, (3, 4), 'a, b', 1)"),
    ):
        assert main(["ptx", str(path), *words]) == 0
        assert capsys.readouterr().err == f"{shown}\n"  # not in the output, which is PTX
    assert main(["ptx", f"{path}:valued:dims=(5, 6),mode=rz,rows=2"]) == 0
    assert capsys.readouterr().err == "(True, (5, 6), 'rz', 2)\n"
    assert main(["ptx", str(path), "--fast", "maybe", "--rows=1"]) == 2
    assert "fast must be True or False, got 'maybe'" in capsys.readouterr().err
    assert main(["ptx", str(path)]) == 2
    assert "valued: no value for rows\nhelp: add --rows VALUE" in capsys.readouterr().err


def test_several_kernels_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.py"
    path.write_text(HEAD + SCALED + EMPTY)
    assert main(["ptx", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{path} defines 2 kernels:\n  {path}:scaled\n  {path}:nothing\nhelp: name one of them" in said
    assert main(["ptx", f"{path}:nothing"]) == 0
    assert ".entry nothing" in capsys.readouterr().out
    assert main(["ptx", f"{path}:noting"]) == 2
    assert "did you mean nothing" in capsys.readouterr().err


def test_a_file_runs_once_as_a_script_under_another_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sizes_of_it.py").write_text("COUNT = 3\n")
    path = tmp_path / "script.py"
    path.write_text(
        f"{HEAD}import sys, sizes_of_it\nprint('ran', sys.argv, __name__ == '__main__', sizes_of_it.COUNT)\n{EMPTY}"
    )
    before = list(sys.path), list(sys.argv)
    for _ in range(2):
        assert main(["ptx", f"{path}:nothing"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"ran ['{path}'] False 3\n"  # not in the output, which is PTX
    assert captured.out.count(".entry nothing") == 2
    assert (list(sys.path), list(sys.argv)) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / 0\n", "cannot import {path}: ZeroDivisionError: division by zero"),
        ("x = (\n", "cannot import {path}: SyntaxError: '(' was never closed"),
        ("x = 1\n", "{path} defines no kernel"),
    ],
)
def test_a_file_that_is_no_kernel_is_an_error_without_a_traceback(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    assert main(["ptx", str(path)]) == 2
    error = capsys.readouterr().err
    assert said.format(path=path) in error
    assert "Traceback" not in error
    assert main(["ptx", str(tmp_path / "absent.py")]) == 2
    assert "file not found" in capsys.readouterr().err


def test_other_commands_read_kernels_of_files(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    word = f"{file}:scaled:B=4,N=32"
    assert main(["check", word]) == 0
    assert main(["diff", "--quiet", word, f"{file}:scaled:B=4,N=32"]) == 0
    assert main(["diff", "--quiet", word, f"{file}:scaled:B=4,N=32,by=5.0"]) == 1
    assert main(["fmt", "--style", "nvcc", "-o", "-", word]) == 0
    assert ".entry scaled" in capsys.readouterr().out


def test_the_output_of_a_listing_may_be_a_file(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "scaled.ptx"
    assert main(["ptx", f"{file}:scaled:B=4,N=32", "--output", str(written)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["ptx", str(written)]) == 0
    assert capsys.readouterr().out == written.read_text()


@pytest.mark.ptxas
def test_resources_and_machine_code_of_a_kernel_are_those_of_its_ptx(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "scaled.ptx"
    word = f"{file}:scaled:B=4,N=32"
    assert main(["ptx", word, "-o", str(written)]) == 0
    shown = []
    for each in (word, str(written)):
        assert main(["resources", "--json", each]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert row["entry"] == "scaled"
        assert row["registers"] > 0
        assert main(["sass", each]) == 0
        shown.append((row, capsys.readouterr().out))
    assert shown[0] == shown[1]
    assert "STG" in shown[0][1]
    assert main(["resources", word, str(written)]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table] == ["kernel", "scaled", "scaled"]


def test_a_layout_has_parameters_shared_memory_and_each_fragment_once(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", f"{file}:scaled", "--B", "4", "--N", "32"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "arrays and numbers"
    assert lines[2].split() == ["X", "input", "B", "x", "N", "f32", "4", "B", "N", "ROW", "1"]
    assert [line.split() for line in lines[-2:]] == [["0", "8", "8", "u64", "X"], ["8", "8", "8", "u64", "Y"]]

    path = tmp_path / "mma.ptx"
    path.write_text(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 rest[];\n"
        ".shared .b8 one;\n.shared .align 8 .b32 many[3];\n"
        ".entry k(.param .b8 a, .param .align 16 .b8 b[32])\n{\n.reg .f32 %f<4>; .reg .b32 %r<6>;\n"
        + "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
        "{%f0,%f1,%f2,%f3};\n" * 2 + "ret;\n}\n"
    )
    assert main(["layout", str(path)]) == 0
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines()]
    for row in (["0", "1", "1", "b8", "a"], ["16", "32", "16", "b8", "b"]):
        assert row in rows
    for row in (["?", "?", "16", "b8", "rest"], ["0", "1", "1", "b8", "one"], ["8", "12", "8", "b32", "many"]):
        assert row in rows
    assert said.count("mma.sync") == 3  # operands d and c, a, b
    for head in ("m16n8k16 d .f32: 16 x 8", "m16n8k16 a .bf16: 16 x 16", "m16n8k16 b .bf16: 16 x 8"):
        assert said.count(head) == 1


@pytest.mark.parametrize("suffix", ["html", "svg"])
def test_a_layout_is_written_as_pictures(suffix: str, file: str, tmp_path: Path) -> None:
    path = tmp_path / f"layout.{suffix}"
    assert main(["layout", f"{file}:scaled:B=4,N=32", "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    root = ET.fromstring(text.removeprefix("<!DOCTYPE html>"))  # noqa: S314 - our own text
    assert root.tag.rpartition("}")[2] == suffix
    assert "parameters of scaled" in "".join(root.itertext())


def test_a_layout_shows_each_shared_tile_of_a_kernel_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiles.py"
    path.write_text(
        f"{HEAD}from pyptx_dsl import smem\nfrom pyptx_dsl.shared_memory.tiles import SharedTile\n"
        "A, B = SharedTile(f32, (64, 32)), SharedTile(f32, (8, 8))\n\n\n"
        "@kernel()\ndef tiled():\n    smem.tile(A, name='left')\n    smem.tile(A, name='right')\n    smem.tile(B)\n"
        "    ptx.ret()\n"
    )
    assert main(["layout", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.count("f32 64 (MN) x 32 (K), swizzle 128B\n") == 1
    assert said.count("f32 8 (MN) x 8 (K), swizzle 32B\n") == 1
    assert [line.split()[-1] for line in said.splitlines() if " 1024  " in line][:2] == ["left", "right"]
    output = tmp_path / "tiles.svg"
    assert main(["layout", str(path), "-o", str(output)]) == 0
    assert output.read_text().count("swizzle 128B") == 1
