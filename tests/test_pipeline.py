"""The usual workflow on one file with the command-line tools: transpile, run, edit, and diff."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx.codegen import ptx_to_python

from .corpus_modules import CORPUS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover

KERNEL = CORPUS / "nvcc-13.0" / "mma_sync.sm_75.ptx"


def run(*words: str | Path, cwd: Path, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        input=given,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(cwd), *sys.path])},
    )


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    done = run("-m", "pyptx.codegen", KERNEL, "--sugar", "--name", "my_kernel", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    (tmp_path / "my_kernel.py").write_bytes(done.stdout)
    return tmp_path / "my_kernel.py"


def test_a_printed_file_runs_and_says_what_it_is(kernel: Path) -> None:
    done = run(kernel, cwd=kernel.parent)
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode()
    assert said.startswith("PTX 9.0 for sm_75")
    assert "module.ptx()" in said


def test_the_text_is_printed_byte_for_byte(kernel: Path) -> None:
    done = run("-c", "from my_kernel import k; print(k.ptx(), end='')", cwd=kernel.parent)
    assert done.stdout == KERNEL.read_bytes(), done.stderr.decode()


def test_an_edit_changes_what_was_edited(kernel: Path) -> None:
    python = kernel.read_text(encoding="ascii")
    assert " << 2" in python
    kernel.write_text(python.replace(" << 2", " << 3", 1), encoding="ascii")
    done = run("-c", "from my_kernel import module; print(module.ptx(), end='')", cwd=kernel.parent)
    before, after = KERNEL.read_text(encoding="utf-8").splitlines(), done.stdout.decode().splitlines()
    changed = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    assert len(changed) == 1
    assert changed[0][0].replace(", 2;", ", 3;") == changed[0][1]


def test_the_python_of_a_module_is_an_input_with_its_ptx(kernel: Path, tmp_path: Path) -> None:
    done = run("-m", "pyptx", "ptx", kernel, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, KERNEL.read_bytes())


def test_standard_input_output_and_reports(tmp_path: Path) -> None:
    data = KERNEL.read_bytes()
    done = run("-m", "pyptx", "transpile", "-", "--sugar", "--report", "json", "-o", "out.py", cwd=tmp_path, given=data)
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stdout
    (report,) = json.loads(done.stderr)["details"]["modules"]
    assert report["rejected"] == []
    assert report["matched"] == report["applied"]
    assert (tmp_path / "out.py").read_text(encoding="ascii") == ptx_to_python(data.decode(), sugar=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.ptx",), "no such file"),
        (("image.cubin",), "image"),
        (("bad.ptx",), "bad.ptx:1:1"),
        (("bad.ptx", "--rules", "lop"), "unknown rule 'lop'"),
    ],
)
def test_bad_input_is_one_error_and_no_file(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    (tmp_path / "bad.ptx").write_text("int main() {}\n", encoding="ascii")
    (tmp_path / "image.cubin").write_bytes(b"\x7fELF\x02\x01 and nothing else")
    done = run("-m", "pyptx", "transpile", *words, "-o", "out.py", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert not (tmp_path / "out.py").exists()
