"""The corpus agrees with its manifest, does not depend on one machine, and contains the PTX features listed here."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"

MOST_BYTES = 20_000_000  # maximum size of the corpus folder in bytes, including sources
LEAST_COMPILED = 540
LEAST_CLANG = 20
LEAST_OPCODES = 1_000  # required number of distinct opcodes, with their modifiers, in the corpus

# Required targets: every generation from Turing to Blackwell; plain, family- and architecture-specific ones.
TARGETS = frozenset(
    f"sm_{name}"
    for names in ("75", "80 86 87 88 89", "90 90a", "100 100a 100f 103a", "110 110a", "120 120a 120f 121a")
    for name in names.split()
)

OPCODE = re.compile(rb"(?:^|[;{}])[ \t]*(?:@!?[%\w$]+[ \t]+)?([a-z][a-z0-9_]*(?:\.[\w:]+)*)[ \t]+[^:\s]", re.MULTILINE)

# Features that some corpus module must contain: name, and pattern of bytes in its PTX.
FEATURES: dict[str, bytes] = {
    "CR LF": rb"\r\n",
    "a lone tab on a line": rb"\n\t\n",
    "block comments inside instructions": rb"mov\.u32 %r\d+, /\*",
    "bare comment lines": rb"\n//\n",
    "seven leading blank lines": rb"\A\n{7}\.version",
    "no final newline": rb"\}\Z",
    "two final newlines": rb"\n\n\Z",
    "no .address_size": rb"\A\s*\.version 9\.0\n\.target sm_75\n\n",
    "a header and nothing else": rb"\.address_size 64\s*\Z",
    "a pointer attribute without a blank": rb"\.param \.u64\.ptr",
    "a pointer attribute": rb"\.param \.u64 \.ptr \.align 1",
    "several instructions on a line": rb"and\.b32 t[^;\n]*;|; +and\.b32",
    "a block opened and closed on a line": rb"\n\t\{ \.reg",
    "prototypes of external functions": rb"\.extern \.func",
    "unsigned hexadecimal": rb"0x7771U",
    "negative initializers": rb"= ?\{ ?-1",
    "a line of 400,000 bytes": rb"[^\n]{400000}",
    "lists of registers": rb"\.reg \.f16 low,high;",
    "stray semicolons": rb";;",
    "registers without %": rb"\tmov\.u32 a, 1;",
    "negative offsets": rb"\+-4\]",
    "sinks": rb"\{%r1, _\}",
    "negated guards": rb"@!%?p",
    "pairs": rb"p\|q",
    ".callprototype": rb"\.callprototype",
    ".calltargets": rb"\.calltargets",
    ".branchtargets": rb"\.branchtargets",
    "brx.idx": rb"brx\.idx",
    ".alias": rb"\.alias ",
    ".pragma": rb'\.pragma "nounroll"',
    ".section": rb"\.section[ \t]\.debug_info",
    ".loc with inlining": rb"function_name \S+, inlined_at",
    ".file with a time": rb'\.file 1 "[^"]*", \d+, \d+',
    "source lines as comments": rb"\n//.*\.cu:\d+ ",
    "texture mode": rb"\.target [^\n]*texmode_independent",
    "sampler initializers": rb"addr_mode_0 = ",
    "managed variables": rb"\.attribute\(\.managed\)",
    "addresses in initializers": rb"generic\(",
    "masked addresses": rb"0xff\(",
    "performance directives": rb"\.minnctapersm",
    "cluster directives": rb"\.reqnctapercluster",
    "tensor copies": rb"cp\.async\.bulk\.tensor\.2d\.",
    "warpgroup products": rb"wgmma\.mma_async",
    "fifth-generation products": rb"tcgen05\.mma",
    "block-scaled products": rb"mma\.sync\.[^;]*block_scale",
    "surfaces": rb"sust\.b\.",
    "textures": rb"tex\.2d\.",
    "video instructions": rb"vadd4\.",
    "128-bit registers": rb"\.reg \.b128",
    "comments that are not ASCII": "倍".encode(),
    "bytes that are not UTF-8": rb"\xff\xfe\x80",
    "a listing of two modules": rb"\AFatbin elf code:",
}


def load(name: str) -> ModuleType:
    """Import a script of `corpus/`, which is not a package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, CORPUS / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


manifest = load("manifest")


@cache
def rows() -> tuple[dict[str, Any], ...]:
    return tuple(tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"])


@cache
def data(path: str) -> bytes:
    return (CORPUS / path).read_bytes()


def compiled() -> list[dict[str, Any]]:
    return [row for row in rows() if row["producer"] != "hand"]


def test_manifest_and_files_are_the_same_both_ways_byte_for_byte() -> None:
    assert manifest.problems() == []


def test_no_module_names_a_machine_in_its_text_or_its_debug_sections() -> None:
    leaks = {row["path"]: manifest.machine_paths(data(row["path"])) for row in rows()}
    assert {path: found for path, found in leaks.items() if found} == {}


def test_machine_paths_are_seen_where_they_hide() -> None:
    spelt = ",".join(str(byte) for byte in b"\0/home/me\0")
    assert manifest.machine_paths(f".section .debug_str {{\n.b8 {spelt}\n}}".encode())
    assert manifest.machine_paths(b'.version 9.0\n.file 1 "/usr/x/y.cu"')
    assert not manifest.machine_paths(b'.file 1 "/proc/self/cwd/sources/x.cu"')


def test_the_corpus_is_large_enough_and_small_enough() -> None:
    producers = Counter(row["producer"] for row in compiled())
    assert producers.total() >= LEAST_COMPILED
    assert sum(count for name, count in producers.items() if name.startswith("clang")) >= LEAST_CLANG
    assert sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()) <= MOST_BYTES


def test_targets_run_from_turing_to_blackwell() -> None:
    assert {row["target"] for row in compiled()} >= TARGETS


def test_rows_say_what_the_files_say() -> None:
    for row in rows():
        names, version = manifest.targets(data(row["path"])), manifest.ptx_version(data(row["path"]))
        assert (row["target"], row["ptx"]) == (names[0] if names else "", "{}.{}".format(*version)), row["path"]


def test_compiled_modules_name_producer_version_and_command() -> None:
    for row in compiled():
        assert row["path"].startswith(row["producer"] + "/")
        assert re.fullmatch(r"\d+\.\d+\.\d+", row["version"])
        assert row["source"] in row["command"]
        assert not manifest.MACHINE_PATHS.search(row["command"].encode())


def test_every_source_is_there_and_used() -> None:
    suffixes = {".cu", ".c", ".cl", ".ll"}
    present = {f for f in (CORPUS / "sources").rglob("*") if f.suffix in suffixes}
    # Python sources contain helpers too; only files with `CASES` are sources of modules.
    present |= {f for f in (CORPUS / "sources").rglob("*.py") if "\nCASES = " in f.read_text(encoding="utf-8")}
    assert {row["source"] for row in compiled()} == {f.relative_to(CORPUS).as_posix() for f in present}


def test_hand_written_modules_say_what_they_show_and_why_ptxas_refuses_them() -> None:
    hand = [row for row in rows() if row["producer"] == "hand"]
    assert len(hand) >= 40
    assert [row["path"] for row in hand if not row.get("shows")] == []
    assert [row["path"] for row in hand if row["assembles"] == bool(row.get("reason"))] == []


def test_all_that_compilers_wrote_assembles() -> None:
    assert [row["path"] for row in compiled() if not row["assembles"]] == []


def test_opcodes_are_many() -> None:
    opcodes = {match for row in rows() for match in OPCODE.findall(data(row["path"]))}
    assert len(opcodes) >= LEAST_OPCODES


@pytest.mark.parametrize("pattern", FEATURES.values(), ids=FEATURES.keys())
def test_the_corpus_holds(pattern: bytes) -> None:
    expression = re.compile(pattern)
    assert any(expression.search(data(row["path"])) for row in rows())


def test_git_leaves_the_line_ends_of_modules_alone() -> None:
    command = ["git", "check-attr", "text", "--", *(f"corpus/{row['path']}" for row in rows())]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {line.rsplit(": ", 1)[1] for line in said.splitlines()} == {"unset"}
