"""Inputs of commands: file kinds, the PTX modules in a file, and errors for files without PTX."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import main
from pyptx_ir.sources import SourceError, expanded, read_source, read_sources
from pyptx_ir.sources.texts import modules_of_listing
from pyptx_ir.syntax import decode, emit, nodes, parse
from pyptx_ir.toolchain import MissingToolError, ToolchainError, assemble, extract, find_tool

if TYPE_CHECKING:
    from pathlib import Path

PTX = ".version 8.0\n.target sm_80\n.address_size 64\n\n// one\n.visible .entry k()\n{\n\tret;\n}\n"
OTHER = PTX.replace("sm_80", "sm_90a").replace("entry k", "entry other")
MODES = ("none", "size", "speed", "balance")
TARGETS = {"sm_80": "sm=80", "sm_90a": "sm=90a"}


def fat_binary(*texts: str) -> bytes:
    """Return a fat binary with uncompressed PTX for sm_80."""
    entries = b""
    for text in texts:
        payload = text.encode() + bytes(-len(text) % 8)
        # A fatbin entry: the field after its sizes is the offset of the ptxas options, of which this entry has none.
        entries += struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 80, len(payload), 0, 64, 0, 8, 80, 0, 0, 0x11, 0, 0)
        entries += struct.pack("<QQ", 72, 0) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def library(*texts: str) -> bytes:
    """Return bytes that begin like a shared library and contain two fat binaries."""
    return b"\x7fELF" + bytes(60) + fat_binary(*texts[:1]) + b"between" + fat_binary(*texts[1:]) + bytes(9)


def made(folder: Path, mode: str, *texts: str) -> Path:
    """Run `fatbinary` on the PTX texts, each for its own target; return its output file."""
    arguments = [f"--create={folder / mode}.fatbin", f"--compress-mode={mode}", "-64"]
    for number, text in enumerate(texts):
        source = folder / f"{number}.ptx"
        source.write_text(text)
        sm = next(sm for target, sm in TARGETS.items() if target in text)
        arguments.append(f"--image3=kind=ptx,{sm},file={source}")
    subprocess.run([find_tool("fatbinary").path, *arguments], check=True)
    return folder / f"{mode}.fatbin"


def entries_of(text: str) -> list[str]:
    return [node.name for node in parse(text).body if isinstance(node, nodes.Function)]


def test_a_ptx_file_is_one_module_whatever_it_is_called(tmp_path: Path) -> None:
    for name in ("k.ptx", "k.cu", "k.so", "k"):
        path = tmp_path / name
        path.write_text(f"/* {'*' * 50} */ // comments come first\n{PTX}")
        (source,) = read_sources(str(path))
        assert (source.name, source.number, source.load()) == (str(path), 0, path.read_text())


def test_a_library_holds_modules_with_numbers_and_offsets(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(library(PTX, OTHER))
    found = read_sources(str(path))
    assert [(each.name, each.load()) for each in found] == [(f"{path}#1", PTX), (f"{path}#2", OTHER)]
    assert [path.read_bytes()[each.offset :].find(b".version") for each in found] == [80, 80]
    assert [each.load() for each in read_sources(f"{path}#2")] == [OTHER]
    assert [each.load() for each in read_sources(str(path), arch="sm_80")] == [PTX]
    assert [each.load() for each in pickle.loads(pickle.dumps(found))] == [PTX, OTHER]  # noqa: S301 - our own bytes


def test_a_file_with_a_number_sign_in_its_name_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "k#2"
    path.write_text(PTX)
    assert read_source(str(path)).load() == PTX


def test_what_can_be_read_only_once_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for data, names in ((PTX.encode(), ["<stdin>"]), (library(PTX, OTHER), ["<stdin>#1", "<stdin>#2"])):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
        found = read_sources("-")
        assert [each.name for each in found] == names
        assert [each.load() for each in found] == [each.load() for each in found]
        assert found[0].load() == PTX
    if hasattr(os, "mkfifo"):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write({PTX!r})"]):
            assert read_source(str(pipe)).load() == PTX


def test_one_of_several_modules_has_to_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(library(PTX, OTHER))
    with pytest.raises(SourceError) as raised:
        read_source(str(path))
    lines = str(raised.value).splitlines()
    assert lines[0] == f"{path} contains 2 PTX modules:"
    assert lines[1:3] == [f"  {path}#1  sm_80  k", f"  {path}#2  sm_90a  other"]
    with pytest.raises(SourceError, match=r"lib\.so has no PTX module #3"):
        read_source(f"{path}#3")
    with pytest.raises(
        SourceError, match=r"(?s)lib\.so has no PTX for sm_100a.*choose one of the file's targets: sm_80, sm_90a"
    ):
        read_source(str(path), "sm_100a")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("k.cu", b"__global__ void k() {}", "CUDA C++, not PTX"),
        ("-", b"#include <cuda.h>\n", "CUDA C++, not PTX"),
        ("k.ttir", b"module {\n}\n", "MLIR, not PTX"),
        ("k.ttgir", b"#blocked = #ttg.blocked<{}>\n", "MLIR, not PTX"),
        ("k.ll", b"define void @k() { ret void }", "LLVM IR, not PTX"),
        ("k", b"; ModuleID = 'k'\n", "LLVM IR, not PTX"),
        ("k.bc", b"BC\xc0\xde" + bytes(40), "LLVM bitcode, not PTX"),
        ("k.mlir", b"gpu.module @k {}", "MLIR, not PTX"),
        ("k.sass", b"/*0000*/ EXIT ;", "SASS, not PTX"),
        ("k.listing", b"\nFatbin elf code:\n================\narch = sm_80\n", "contains only machine code, no PTX"),
        ("k.so", b"\x7fELF" + bytes(200), "the file contains no fat binary"),
        ("k.so", b"", "the file contains no fat binary"),
        ("k.cubin", b"\x7fELF" + bytes(14) + b"\xbe\x00" + bytes(80), "only machine code"),
        ("k.fatbin", fat_binary(PTX)[:100], "the fat binary is damaged at byte 0: the file is"),
    ],
)
def test_what_holds_no_ptx_is_one_error_of_every_command(
    tmp_path: Path,
    name: str,
    data: bytes,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if name != "-":
        (tmp_path / name).write_bytes(data)
    for command in ("check", "fmt"):
        if name == "-":
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(data)))
        assert main([command, name]) == 2
        written = capsys.readouterr()
        assert written.out == ""
        assert said in written.err
        assert written.err.count("pyptx ") == 1


def test_a_listing_is_its_modules_without_headings(tmp_path: Path) -> None:
    heading = "\nFatbin ptx code:\n================\narch = sm_90\nhost = linux\ncompressed\nptxasOptions = \n"
    path = tmp_path / "k.ptx"
    path.write_text(
        f"member a.o:\n{heading}\n\n{PTX}\n\nFatbin elf code:\n================\narch = sm_90\n{heading}{OTHER}"
    )
    found = read_sources(str(path))
    assert [(each.name, each.load()) for each in found] == [(f"{path}#1", PTX), (f"{path}#2", OTHER)]
    assert [path.read_bytes()[each.offset :].lstrip()[:8] for each in found] == [b".version", b".version"]


@pytest.mark.ptxas
@pytest.mark.parametrize("mode", MODES)
def test_what_fatbinary_writes_is_read_as_cuobjdump_reads_it(tmp_path: Path, mode: str) -> None:
    path = made(tmp_path, mode, PTX + "// " + "x" * 4000 + "\n", OTHER)
    found = [each.load() for each in read_sources(str(path))]
    listed = [each.load() for each in modules_of_listing(decode(extract(path.read_bytes())), "listing")]
    assert [text.strip() for text in found] == [text.strip() for text in listed]
    assert [entries_of(text) for text in found] == [["k"], ["other"]]


@pytest.mark.ptxas
@pytest.mark.parametrize("mode", ["size", "speed"])
def test_without_the_packages_cuobjdump_unpacks(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path, mode, PTX + "// " + "x" * 4000 + "\n", OTHER)
    unpacked = [each.load().strip() for each in read_sources(str(path))]
    monkeypatch.setattr("pyptx_ir.sources.fatbin.find_spec", lambda _: None)
    assert [each.load().strip() for each in read_sources(str(path))] == unpacked

    def no_tool(_: str) -> None:
        raise MissingToolError("cuobjdump is not installed")

    monkeypatch.setattr("pyptx_ir.toolchain.images.find_tool", no_tool)
    package = {"size": "zstandard", "speed": "lz4"}[mode]
    with pytest.raises(
        SourceError, match=rf"(?s)can't decompress the PTX: neither {package} nor cuobjdump.*pip install {package}"
    ):
        read_sources(str(path))


def test_check_reports_every_module_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, plain = tmp_path / "lib.so", tmp_path / "k.ptx"
    path.write_bytes(library(PTX.replace("ret;", "ret.nosuch;"), OTHER))
    plain.write_text(PTX)
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert f"{path}#1:8:5" in out
    assert "2 modules, 1 error, 0 warnings" in out
    assert main(["check", str(path), "--arch", "sm_90a"]) == 0
    assert main(["check", f"{path}#2", str(plain), "-j", "2"]) == 0
    capsys.readouterr()
    assert main(["check", str(path), str(plain), "-j", "2", "--format", "ndjson"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["inputs"][0]: row["counts"]["error"] for row in rows} == {f"{path}#1": 1, f"{path}#2": 0, str(plain): 0}


def test_fmt_prints_images_and_writes_nothing_over_them(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(library(PTX.replace("\tret", "    ret"), OTHER))
    before = path.read_bytes()
    assert main(["fmt", str(path)]) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert printed == f"// {path}#1\n{PTX}// {path}#2\n{OTHER}"
    assert main(["fmt", str(path), "-o", str(path)]) == 2
    assert main(["fmt", str(path), "-o", str(tmp_path / "both.ptx")]) == 2
    assert main(["fmt", f"{path}#1", "-o", str(tmp_path / "one.ptx")]) == 0
    assert (tmp_path / "one.ptx").read_text() == PTX
    capfdbinary.readouterr()
    assert main(["fmt", str(path), "--check"]) == 1
    assert capfdbinary.readouterr().out.decode() == f"{path}#1\n"
    assert path.read_bytes() == before


@pytest.mark.ptxas
def test_the_listing_of_an_image_is_ptx_under_headings() -> None:
    listing = decode(extract(fat_binary(PTX, OTHER)))
    module = parse(listing)
    assert emit(module) == listing
    assert [node.name for node in module.body if isinstance(node, nodes.Function)] == ["k", "other"]


@pytest.mark.ptxas
def test_a_relative_path_to_cuobjdump_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CUOBJDUMP", os.path.relpath(find_tool("cuobjdump").path))
    assert ".visible .entry k()" in decode(extract(fat_binary(PTX)))


@pytest.mark.ptxas
def test_what_cuobjdump_finds_no_ptx_in_is_said() -> None:
    with pytest.raises(ToolchainError, match="the image contains only machine code"):
        extract(assemble(PTX, "sm_80").cubin)
    with pytest.raises(ToolchainError, match=r"can't read this image|no PTX"):
        extract(b"\x7fELF\x02\x01 and nothing else")


def test_folders_and_patterns_are_replaced_by_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "empty").mkdir()
    files = [tmp_path / name for name in ("a.ptx", "b[1].ptx", "below/c.ptx")]
    for path in (*files, tmp_path / "notes.txt"):
        path.write_text(PTX)
    assert expanded([str(tmp_path)]) == list(map(str, files))
    assert expanded([str(tmp_path / "*.ptx"), "-"]) == [*map(str, files[:2]), "-"]
    assert expanded([str(tmp_path / "**" / "*.ptx")]) == list(map(str, files))
    assert expanded([str(files[1]), "lib.so#2"]) == [str(files[1]), "lib.so#2"]
    assert main(["check", str(tmp_path)]) == 0
    assert "3 files, 0 errors" in capsys.readouterr().out
    for name, words in (("empty", "is a folder without .ptx files"), ("*.nosuch", "no file matches")):
        assert main(["check", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err
