"""Round trip of files by command and API: PTX and machine code equal the source's; sugared Python is not longer."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest

from pyptx.codegen import ptx_to_python
from pyptx_ir.toolchain import assemble, disassemble

from .corpus_modules import CORPUS
from .test_codegen import module_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover

# Corpus modules: a small one of each kind of compiler, and the two that the documentation shows in full.
FILES = (
    "nvcc-13.0/hopper_gemm.sm_90a.ptx",
    "nvcc-13.0/switches.sm_80.ptx",
    "clang-19/control.sm_89.ptx",
    "nvrtc-12.9/tcgen05.sm_100a.ptx",
    "triton-3.9/attention.sm_90a.tma.ptx",
    "gluon-3.9/vectors.sm_90a.scaled.ptx",
    "cutedsl-4.8/vectors.sm_80.add.ptx",
)


@cache
def printed(file: str, *, sugar: bool) -> str:
    return ptx_to_python((CORPUS / file).read_text(encoding="utf-8"), sugar=sugar)


def emitted(python: str) -> str:
    return module_of(python).ptx()


@pytest.mark.long
def test_the_command_prints_many_files_and_each_emits_its_source(tmp_path: Path) -> None:
    for number, file in enumerate(FILES):
        words = ["-m", "pyptx.codegen", str(CORPUS / file), "--sugar", "-o", f"m{number}.py"]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        python = (tmp_path / f"m{number}.py").read_text(encoding="ascii")
        assert emitted(python) == (CORPUS / file).read_text(encoding="utf-8"), file


@pytest.mark.parametrize("file", FILES)
def test_plain_and_sugared_python_emit_the_same_text_and_sugar_is_shorter(file: str) -> None:
    plain, sugared = (printed(file, sugar=sugar) for sugar in (False, True))
    source = (CORPUS / file).read_text(encoding="utf-8")
    assert emitted(plain) == emitted(sugared) == source
    assert sugared.count("\n") <= plain.count("\n")


@pytest.mark.ptxas
@pytest.mark.parametrize("file", FILES)
@pytest.mark.long
def test_machine_code_of_the_python_is_that_of_the_source(file: str) -> None:
    source = (CORPUS / file).read_text(encoding="utf-8")
    target = next(part for part in file.split(".") if part.startswith("sm_"))
    code = [disassemble(assemble(text, target).cubin) for text in (source, emitted(printed(file, sugar=True)))]
    assert code[0] == code[1]
    assert "EXIT" in code[0]
