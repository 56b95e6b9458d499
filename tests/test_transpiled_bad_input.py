"""The command on input that is hardly PTX: the bytes round-trip, or it reports one located error and writes no file."""

from __future__ import annotations

import runpy
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.corpus_modules import CORPUS

from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_transpile.command import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover

HEAD = b".version 8.0\n.target sm_90\n.address_size 64\n"
KERNEL = HEAD + b"\n.visible .entry k()\n{\n\tret;\n}\n"
LEGAL = {
    "empty": b"",
    "white space": b"\n\t \n",
    "comments": b"// one\n/* two */\n",
    "a version": b".version 8.0\n",
    "no function": HEAD,
    "lines of Windows": KERNEL.replace(b"\n", b"\r\n"),
    "no last line end": KERNEL.rstrip(),
    "bytes that are no UTF-8": KERNEL + b"// \xe9\n",
}
BROKEN = {
    "an open comment": b"/* one",
    "an open string": KERNEL + b'.file 1 "one',
    "Python": b"def f(): pass\n",
    "C": b"int main() {}",
    "a zero": KERNEL + b"\0",
    "UTF-16": KERNEL.decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + KERNEL,
    "binary": bytes(range(256)) * 4,
    "brackets": b"{" * 3000,
    "parentheses": HEAD + b".global .b32 a = " + b"(" * 3000,
}
MODULES = ("clang-22/plain.sm_100a.ptx", "clang-22/kernels.sm_80.ptx")
PREFIXES = 40


def _written(tmp_path: Path, data: bytes, told: pytest.CaptureFixture[str], *options: str) -> bool:
    """Run the command on a file; check that its bytes round-trip or one error is reported. Return whether they do."""
    source, output = tmp_path / "source.ptx", tmp_path / "output.py"
    source.write_bytes(data)
    output.unlink(missing_ok=True)
    code, error = run([str(source), "-o", str(output), *options]), told.readouterr().err
    if code == 0:
        assert not error or (
            error.startswith(f"pyptx transpile: {source}") and " emitted with unchecked=True: " in error
        )
        assert error.count("\n") == bool(error)
        module = runpy.run_path(str(output), run_name="printed")["module"]
        assert isinstance(module, ModuleBuilder)
        assert module.ptx().encode("utf-8", "surrogateescape") == data
        return True
    assert code == 2
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    assert error.count("pyptx transpile: ") == error.count(f"\n{source}:") == 1
    assert "^" in error
    return False


@pytest.mark.parametrize("options", [(), ("--sugar",)], ids=["plain", "sugar"])
@pytest.mark.parametrize("kind", LEGAL)
def test_what_is_legal_comes_back(
    tmp_path: Path, kind: str, options: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert _written(tmp_path, LEGAL[kind], capfd, *options)


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_not_is_one_error_with_its_place(tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert not _written(tmp_path, BROKEN[kind], capfd)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_may_end_anywhere(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    data = (CORPUS / name).read_bytes()
    ends = sorted(Random(name).sample(range(1, len(data)), PREFIXES))
    done = [_written(tmp_path, data[:end], capfd, "--sugar") for end in ends]
    assert not all(done)


@pytest.mark.parametrize("kind", ["a folder", "nothing", "a link to nothing"])
def test_what_cannot_be_read_is_one_error(tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "source.ptx", tmp_path / "output.py"
    if kind == "a folder":
        source.mkdir()
    elif kind == "a link to nothing":
        source.symlink_to(tmp_path / "nothing")
    assert run([str(source), "-o", str(output)]) == 2
    assert capfd.readouterr().err.count("\n") == 1
    assert not output.exists()
