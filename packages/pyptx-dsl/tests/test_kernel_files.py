"""Python files that were written for `python FILE.py`, as inputs of commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyptx_ir.commands import main

HEAD = """\
from pyptx_dsl import ptx
from pyptx_dsl.kernels.decorator import kernel
"""
EMPTY = """
@kernel(arch="sm_80")
def nothing(*, flag=0):
    ptx.ret()
"""


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", ["my-kernel.py", "two words.py", "a:b.py", "größe.py"])
def test_a_file_may_have_any_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ptx", written(tmp_path / name, HEAD + EMPTY)]) == 0
    assert ".entry nothing" in capsys.readouterr().out


def test_files_of_packages_may_import_relatively(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "outer" / "__init__.py", "")
    written(tmp_path / "outer" / "inner" / "__init__.py", "")
    written(tmp_path / "outer" / "sizes.py", "COUNT = 3\n")
    text = f"{HEAD}from ..sizes import COUNT\nfrom outer.sizes import COUNT as same\nprint(COUNT + same)\n{EMPTY}"
    assert main(["ptx", written(tmp_path / "outer" / "inner" / "kernels.py", text)]) == 0
    captured = capsys.readouterr()
    assert (captured.err, ".entry nothing" in captured.out) == ("6\n", True)


def test_what_a_file_writes_to_descriptor_1_goes_to_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    late = EMPTY.replace("    ptx.ret", "    os.write(1, b'traced\\n')\n    ptx.ret")
    path = written(tmp_path / "writes.py", f"import os\n{HEAD}os.system('echo started')\n{late}")
    sys.stdout.write("before\n")
    assert main(["ptx", path]) == 0
    captured = capfd.readouterr()
    assert captured.err == "started\ntraced\n"
    assert captured.out.startswith("before\n.version")


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>&- 2>&-"])
def test_a_file_runs_with_closed_outputs(closed: str, tmp_path: Path) -> None:
    path = written(tmp_path / "nothing.py", HEAD + EMPTY)
    program = "import sys; from pyptx_ir.commands import main; sys.exit(main(sys.argv[1:]))"
    command = f"{sys.executable} -c '{program}' ptx {path} -o {tmp_path}/nothing.ptx {closed}"
    assert subprocess.run(["/bin/sh", "-c", command], check=False, stdin=subprocess.DEVNULL).returncode == 0
    assert ".entry nothing" in (tmp_path / "nothing.ptx").read_text(encoding="utf-8")


def test_two_files_import_their_own_modules_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    late = EMPTY.replace("    ptx.ret", "    from common import COUNT as late\n    print('traced', late)\n    ptx.ret")
    files = []
    for number, folder in enumerate(("old", "new")):
        written(tmp_path / folder / "common.py", f"COUNT = {number}\n")
        text = f"{HEAD}from common import COUNT\nprint('ran', COUNT)\n{late}"
        files.append(written(tmp_path / folder / "kernels.py", text))
    before = set(sys.modules), list(sys.path)
    assert main(["diff", "--quiet", *files]) == 0
    assert sorted(capsys.readouterr().err.splitlines()) == ["ran 0", "ran 1", "traced 0", "traced 1"]
    assert "common" not in sys.modules
    assert before[1] == sys.path


@pytest.mark.parametrize("call", ["sys.exit()", "sys.exit(3)", "raise SystemExit('no GPU')"])
def test_a_file_that_exits_is_an_error(call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "exits.py", f"import sys\n{HEAD}{EMPTY}{call}\n")
    assert main(["ptx", path]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"cannot import {path}: sys.exit(" in captured.err
    assert f"exits.py:8: in <module>\n    {call}" in captured.err
    assert 'help: move the code of the program below if __name__ == "__main__":' in captured.err


def test_a_file_may_change_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "below" / "moves.py", f"import os\nos.chdir('/')\n{HEAD}{EMPTY}")
    assert main(["ptx", "below/moves.py", "-o", "nothing.ptx"]) == 0
    assert Path.cwd() == tmp_path
    assert ".entry nothing" in Path("nothing.ptx").read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f(:\n    pass\n", "SyntaxError: invalid syntax\n{path}:3:\n    def f(:\n          ^\n"),
        ("if True:\nx = 1\n", "IndentationError: expected an indented block after 'if' statement on line 3\n{path}:4:"),
        ("import broken\n", "ZeroDivisionError: division by zero\n{folder}/broken.py:2: in wrong\n    return 1 / 0\n"),
        ("import json\njson.loads('{')\n", "JSONDecodeError: "),
        ("class Skipped(BaseException): ...\nraise Skipped('no GPU')\n", "Skipped: no GPU\n{path}:4: in <module>"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'\n{path}:3: in <module>"),
    ],
)
def test_an_error_names_the_line_of_the_file(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "broken.py", "def wrong():\n    return 1 / 0\nwrong()\n")
    path = written(tmp_path / "kernels.py", HEAD + text)
    assert main(["ptx", path]) == 2
    error = capsys.readouterr().err
    folder = tmp_path if os.path.relpath(tmp_path).startswith("..") else os.path.relpath(tmp_path)
    assert f"cannot import {path}: {said.format(path=f'{folder}/kernels.py', folder=folder)}" in error
    assert "json.loads('{')" in error or "json" not in text


@pytest.mark.parametrize("command", ["ptx", "check", "diff --quiet"])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("raise ValueError('flag must be even')", "nothing: ValueError: flag must be even\n"),
        ("[][1]", "nothing: IndexError: list index out of range\n"),
        ("raise SystemExit(3)", "nothing: sys.exit(3) was called\n"),
    ],
)
def test_an_exception_of_a_kernel_function_is_an_error_at_its_line(
    line: str, said: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "raises.py", HEAD + EMPTY.replace("    ptx.ret", f"    {line}\n    ptx.ret"))
    inputs = [path, path] if command.startswith("diff") else [path]
    assert main([*command.split(), *inputs]) == 2
    error = capsys.readouterr().err
    assert f"{path}:{said}" in error
    assert f"raises.py:6: in nothing\n    {line}\n" in error


def test_the_traceback_of_an_error_can_be_requested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_TRACEBACK", "full")
    path = written(tmp_path / "raises.py", HEAD + EMPTY.replace("    ptx.ret", "    [][1]\n    ptx.ret"))
    with pytest.raises(IndexError):
        main(["ptx", path])


def test_kernels_of_other_files_are_not_listed_but_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "library.py", HEAD + EMPTY + EMPTY.replace("nothing", "other"))
    path = written(
        tmp_path / "own.py", f"{HEAD}from library import *\nimport library\n{EMPTY.replace('nothing', 'own')}"
    )
    for word, name in ((path, "own"), (f"{path}:other", "other")):
        assert main(["ptx", word]) == 0
        assert f".entry {name}" in capsys.readouterr().out
    only = written(tmp_path / "only.py", "from library import nothing\n")
    assert main(["ptx", only]) == 0
    assert ".entry nothing" in capsys.readouterr().out


def test_kernels_of_a_factory_have_the_names_of_their_variables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    factory = f"{HEAD}\ndef make(count):\n{''.join(f'    {line}' for line in EMPTY[1:].splitlines(keepends=True))}"
    factory = factory.replace("*, flag=0", "*, size").replace("ptx.ret()", "ptx.ret()\n    return nothing")
    path = written(tmp_path / "made.py", f"{factory}\nshort, long = make(1), make(2)\nsame = long\n")
    assert main(["ptx", path]) == 2
    assert f"defines 2 kernels:\n  {path}:short\n  {path}:long\n  {path}:same\n" in capsys.readouterr().err
    assert main(["ptx", f"{path}:long"]) == 2
    assert f"write {path}:long:size=VALUE" in capsys.readouterr().err
    unnamed = written(tmp_path / "unnamed.py", f"{factory}\nkernels = [make(1), make(2)]\n")
    assert main(["ptx", unnamed]) == 2
    assert "defines no kernel\nhelp: decorate a function with @kernel, or assign" in capsys.readouterr().err


MODULE = """\
from pyptx_dsl import ptx
from pyptx_dsl.modules import beginning
from pyptx_dsl.types import u64

module = beginning.module(version=(8, 5), target="sm_80")

@module.entry("twice", [module.param("X", u64)])
def twice(X):
    ptx.inst.ret()
"""


def test_a_module_is_found_unless_the_file_defines_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "module.py", MODULE)
    for name in (path, f"{path}:module"):
        for command in ("ptx", "fmt"):
            assert main([command, name]) == 0
            assert ".entry twice" in capsys.readouterr().out
    assert Path(path).read_text(encoding="utf-8") == MODULE
    assert main(["check", path]) == 0
    assert main(["check", path, "--N", "3"]) == 2
    assert "module is a module, which has no sizes and parameters" in capsys.readouterr().err
    both = written(tmp_path / "both.py", f"{MODULE}{HEAD}{EMPTY}")
    assert main(["ptx", both]) == 0
    assert ".entry nothing" in capsys.readouterr().out


def test_no_command_overwrites_the_file_of_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "kernels.py", HEAD + EMPTY)
    monkeypatch.chdir(tmp_path)
    assert main(["fmt", "--style", "nvcc", "kernels.py"]) == 0
    assert ".entry nothing" in capsys.readouterr().out
    assert main(["fmt", "kernels.py", "-o", "kernels.py"]) == 2
    assert main(["fmt", "kernels.py:nothing", "-o", "nothing.ptx"]) == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kernels.py", "nothing.ptx"]
    assert Path(path).read_text(encoding="utf-8") == HEAD + EMPTY


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kernels", "kernels does not exist\nhelp: did you mean kernels.py?"),
        ("kernels:nothing", "kernels:nothing does not exist\nhelp: did you mean kernels.py:nothing?"),
        ("notes.ipynb", "notes.ipynb is a notebook, not PTX\nhelp: write its kernels to a Python file"),
        ("kernels.pyc", "kernels.pyc is Python bytecode, not PTX"),
    ],
)
def test_other_names_of_python_code_are_errors_with_a_help(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("kernels.py", "notes.ipynb", "kernels.pyc"):
        written(tmp_path / file, "{}")
    for command in ("ptx", "check"):
        assert main([command, name]) == 2
        assert said in capsys.readouterr().err
