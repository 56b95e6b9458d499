"""`pyptx transpile`: one file, several files into a folder, and never a partial output file."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from pyptx_ir.commands import INTERRUPTED
from pyptx_transpile.command import run
from pyptx_transpile.transpiler import ptx_to_python

SOURCE = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n"
KERNEL = """\
from pyptx_dsl import ptx
from pyptx_dsl.kernels.decorator import kernel

@kernel(arch="sm_80")
def nothing():
    ptx.ret()
"""
BROKEN = {
    "truncated": SOURCE[:-8].encode(),
    "no PTX": b"int main() {}",
    "binary": b"\x00\xff\x01" * 40,
}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_several_files_go_into_a_folder(tmp_path: Path, jobs: str) -> None:
    names = [tmp_path / f"{name}.ptx" for name in ("one", "two", "three")]
    for path in names:
        path.write_text(SOURCE)
    folder = tmp_path / "out"
    folder.mkdir()
    assert run([*map(str, names), "--sugar", "-o", str(folder), "-j", jobs]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["one.py", "three.py", "two.py"]
    assert len({path.read_text() for path in folder.iterdir()}) == 1


def test_an_input_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, link = tmp_path / "k.py", tmp_path / "link.py"
    source.write_text(SOURCE)
    link.symlink_to(source)
    for output in (source, link, tmp_path):  # in folder tmp_path, the output would overwrite its source k.py
        assert run([str(source), "-o", str(output)]) == 2
        assert "is an input and would be overwritten" in capsys.readouterr().err
    assert source.read_text() == SOURCE


def test_the_python_file_of_a_kernel_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.py"
    source.write_text(KERNEL)
    for name in (str(source), f"{source}:nothing"):
        for output in (source, tmp_path):
            assert run([name, "-o", str(output)]) == 2
            assert "k.py is an input and would be overwritten" in capsys.readouterr().err
    assert source.read_text() == KERNEL
    assert run([str(source), "-o", str(tmp_path / "out.py")]) == 0


def test_kernels_of_python_files_are_transpiled_in_parallel(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    names = [str(tmp_path / f"{name}.py") for name in ("one", "two")]
    for name in names:
        Path(name).write_text(KERNEL.replace("():", "(*, flag):"))
    assert run([*names, "--flag=3", "-o", str(tmp_path / "out"), "-j", "2"]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["one.py", "two.py"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_two_outputs_of_one_name_are_refused(tmp_path: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = [tmp_path / folder / "k.ptx" for folder in ("a", "b")]
    for path in (*names, tmp_path / "out" / "other"):
        path.parent.mkdir()
        path.write_text(SOURCE)
    assert run([*map(str, names), "-o", str(tmp_path / "out"), "-j", jobs]) == 2
    told = capsys.readouterr().err
    assert f"{names[0]} and {names[1]} have the same output {tmp_path / 'out' / 'k.py'}" in told
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["other"]


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_ptx_is_one_error_and_no_file(tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "broken.ptx", tmp_path / "broken.py"
    source.write_bytes(BROKEN[kind])
    assert run([str(source), "-o", str(output)]) == 2
    assert list(tmp_path.iterdir()) == [source]
    told = capfd.readouterr().err
    assert f"\n{source}:" in told
    assert told.count("pyptx transpile:") == 1
    assert "^" in told


def test_several_files_need_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["a.ptx", "b.ptx", "-o", str(tmp_path / "nowhere")]) == 2
    assert "-o DIR" in capfd.readouterr().err
    assert run([str(tmp_path)]) == 2
    assert "is a folder without .ptx files" in capfd.readouterr().err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_report_on_several_files_is_one_document(
    tmp_path: Path, jobs: str, capfd: pytest.CaptureFixture[str]
) -> None:
    names = [str(tmp_path / f"{name}.ptx") for name in ("one", "two")]
    for name in names:
        (tmp_path / name).write_text(SOURCE)
    assert run([*names, "--sugar", "--report", "json", "-o", str(tmp_path), "-j", jobs]) == 0
    assert json.loads(capfd.readouterr().err)["inputs"] == names


def listing(*texts: str) -> str:
    heading = "\nFatbin ptx code:\n================\narch = sm_90\n\n"
    return "".join(f"{heading}{text}" for text in texts)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_each_image_of_a_file_is_a_file(tmp_path: Path, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "k.txt", tmp_path / "out"
    out.mkdir()
    older = SOURCE.replace("sm_90", "sm_80")
    source.write_text(listing(older, SOURCE))
    assert run([str(source), "-o", str(out), "-j", jobs]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["k.1.sm_80.py", "k.2.sm_90.py"]
    assert (out / "k.2.sm_90.py").read_text() == ptx_to_python(SOURCE)
    assert run([str(source), "--arch", "sm_80", "-o", str(out), "-j", jobs]) == 0
    assert (out / "k.py").read_text() == ptx_to_python(older)
    assert run([f"{source}#2", "-o", str(out), "-j", jobs]) == 0
    capsys.readouterr()
    assert run([str(source), "-o", str(tmp_path / "one.py"), "-j", jobs]) == 2
    assert f"{source}#2  sm_90  k" in capsys.readouterr().err
    assert not (tmp_path / "one.py").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.long
def test_an_interrupt_is_one_line_and_leaves_no_part_of_a_file(tmp_path: Path, jobs: str) -> None:
    os.mkfifo(tmp_path / "silent.ptx")
    (tmp_path / "one.ptx").write_text(SOURCE)
    (tmp_path / "out").mkdir()
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from pyptx_transpile.command import main; sys.exit(main())"
    )
    words = [sys.executable, "-c", program, "one.ptx", "silent.ptx", "-o", "out", "-j", jobs]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=tmp_path) as process:
        while not (tmp_path / "out" / "one.py").exists():
            assert process.poll() is None
            sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        try:
            said = process.communicate(timeout=60)[1]
            assert re.fullmatch(r"\ninterrupted after [01] of 2 files\n", said)  # 0: before `one.py` was counted
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one.py"]
