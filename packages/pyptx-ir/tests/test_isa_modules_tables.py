"""Tables of special registers, directives and versions agree with ptxas, row by row."""

from __future__ import annotations

import tempfile
from itertools import groupby
from pathlib import Path

import pytest

from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.modules.header import VERSIONS
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.isa.table import directives
from pyptx_ir.isa.table import special_registers as specials
from pyptx_ir.isa.target_rows import TARGETS
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.toolchain.diagnostics import parse_log
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

pytestmark = pytest.mark.ptxas

NEWEST = find_tool("ptxas").newest_ptx
PLAIN = [row for row in TARGETS if row.kind == "plain" and row.until is None and row.since <= NEWEST]
EMPTY = ".entry k() { exit; }\n"

# For each directive, a module body (after .version and .target) that uses it.
SHOWN: dict[str, str] = {
    "address_size": ".address_size 64\n" + EMPTY,
    "alias": ".func b() { ret; }\n.weak .func a();\n.alias a, b;\n",
    "maxntid": ".entry k() .maxntid 128, 1, 1 { exit; }\n",
    "reqntid": ".entry k() .reqntid 128, 1, 1 { exit; }\n",
    "minnctapersm": ".entry k() .maxntid 128, 1, 1 .minnctapersm 1 { exit; }\n",
    "maxnctapersm": ".entry k() .maxntid 128, 1, 1 .maxnctapersm 1 { exit; }\n",
    "maxnreg": ".entry k() .maxnreg 32 { exit; }\n",
    "minperctamemory": ".entry k() .minperctamemory 1024 { exit; }\n",
    "noreturn": ".func f() .noreturn { ret; }\n",
    "abi_preserve": ".func f() .abi_preserve 16 { ret; }\n",
    "abi_preserve_control": ".func f() .abi_preserve_control 8 { ret; }\n",
    "pragma": '.pragma "nounroll";\n' + EMPTY,
    "pragma used_bytes_mask": '.entry k() { .pragma "used_bytes_mask 0xF"; exit; }\n',
    "pragma enable_smem_spilling": '.entry k() { .pragma "enable_smem_spilling"; exit; }\n',
    "pragma frequency": '.entry k() { .pragma "frequency 7"; exit; }\n',
    "reqnctapercluster": ".entry k() .reqnctapercluster 2, 1, 1 { exit; }\n",
    "explicitcluster": ".entry k() .explicitcluster { exit; }\n",
    "maxclusterrank": ".entry k() .maxclusterrank 8 { exit; }\n",
    "blocksareclusters": ".entry k() .blocksareclusters .reqntid 128, 1, 1 .reqnctapercluster 2, 1, 1 { exit; }\n",
    "language": ".entry k() .language 1 { exit; }\n",
    "weak": ".weak .global .b32 g;\n",
    "common": ".common .global .b32 g;\n",
    "managed": ".global .attribute(.managed) .s32 g;\n",
    "unified": ".global .attribute(.unified(19, 95)) .f32 g;\n",
    "branchtargets": ".entry k() { p: .branchtargets a, b; a: exit; b: exit; }\n",
    "calltargets": ".func f() { ret; }\n.entry k() { p: .calltargets f; exit; }\n",
    "callprototype": ".entry k() { p: .callprototype _ (.param .b32 _); exit; }\n",
    "section": EMPTY + ".section .debug_str {\n.b8 97, 0\n}\n",
    "file timestamp": '.file 1 "x.cu", 1234, 55\n' + EMPTY,
    "loc inlined_at": (
        '.file 1 "x.cu"\n.entry k() {\n.loc 1 2 3\n.loc 1 2 3, function_name s, inlined_at 1 2 3\nexit; }\n'
        ".section .debug_str {\ns:\n.b8 97, 0\n}\n"
    ),
    "ptr": ".entry k(.param .u64 .ptr .global .align 16 a) { exit; }\n",
    "param of func": ".func (.param .b32 r) f(.param .b32 a) { ret; }\n",
    "param array of unknown size": ".extern .func f(.param .b32 a, .param .b8 b[]);\n" + EMPTY,
    "entry declaration": ".entry k();\n" + EMPTY,
    "texref": ".global .texref t;\n" + EMPTY,
    "samplerref": ".global .samplerref t;\n" + EMPTY,
    "surfref": ".global .surfref t;\n" + EMPTY,
    "tex": ".tex .u32 t;\n" + EMPTY,
    "b128": ".entry k() { .reg .b128 %q; exit; }\n",
    "f16x2": ".entry k() { .reg .f16x2 %q; exit; }\n",
    "generic()": ".global .b32 x; .global .u64 g = generic(x);\n",
    "mask()": ".global .b32 x; .global .u8 g[2] = {0xff(x), 0xff00(x)};\n",
}


def header(version: tuple[int, int], target: str, name: str = "") -> str:
    mode = ", texmode_independent" if name == "samplerref" and version >= (1, 5) else ""
    return f".version {version[0]}.{version[1]}\n.target {target}{mode}\n"


def target_for(version: tuple[int, int]) -> str:
    """Return a PTX version's latest target without suffix; for versions older than all in `PLAIN`, an old target."""
    known = [row.name for row in PLAIN if row.since <= version]
    return known[-1] if known else "sm_10" if version < (2, 0) else "sm_20" if version < (3, 0) else "sm_30"


def before(version: tuple[int, int]) -> tuple[int, int]:
    return VERSIONS[VERSIONS.index(version) - 1]


def target_before(target: str) -> str:
    return [row.name for row in PLAIN if row.number < find_target(target).number][-1]


def said(text: str, target: str) -> list[tuple[int, str]]:
    """Return line and text of ptxas errors for a module; with `-c`, functions may be defined elsewhere."""
    number = int("".join(filter(str.isdigit, target)))
    arch = target.replace("sm_", "compute_") if number >= 75 else "compute_75"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        is_whole = "enable_smem_spilling" in text  # ptxas rejects .pragma "enable_smem_spilling" with -c
        separate = [] if is_whole or text.startswith((".version 1.", ".version 2.", ".version 3.0")) else ["-c"]
        outcome = run(find_tool("ptxas"), [f"-arch={arch}", *separate, "m.ptx", "-o", "m.o"], Path(folder))
    remarks = [(remark.line or 0, remark.message) for remark in parse_log(outcome.output) if remark.is_error]
    assert remarks or not outcome.status, outcome.output
    return remarks


def moves(rows: list[specials.SpecialRegisterRow]) -> str:
    lines = [f"mov.{row.type} %{row.type}, {row.name};" for row in rows]
    declared = ".reg .u32 %u32; .reg .b32 %b32; .reg .u64 %u64; .reg .pred %pred;"
    return "\n".join([f".entry k() {{ {declared}", *lines, "exit; }", ""])


GROUPS = [
    (key, list(rows))
    for key, rows in groupby(
        sorted(specials.ROWS, key=lambda row: (row.since, row.target)), lambda row: (row.since, row.target)
    )
    if key[0] <= NEWEST
]


@pytest.mark.parametrize(("key", "rows"), GROUPS, ids=[rows[0].name for _, rows in GROUPS])
def test_special_registers_arrive_when_the_table_says_so(
    key: tuple[tuple[int, int], str], rows: list[specials.SpecialRegisterRow]
) -> None:
    since, target = key
    assert said(header(since, target_for(since)) + moves(rows), target_for(since)) == []
    lines = {3 + i for i in range(1, len(rows) + 1)}
    if since > (1, 0):
        version, latest = before(since), target_for(before(since))
        assert {line for line, _ in said(header(version, latest) + moves(rows), latest)} == lines
    if target:
        assert said(header(NEWEST, target) + moves(rows), target) == []
        earlier = target_before(target)
        assert {line for line, _ in said(header(NEWEST, earlier) + moves(rows), earlier)} == lines


@pytest.mark.parametrize("row", [row for row in directives.ROWS if row.since <= NEWEST], ids=lambda row: row.name)
def test_directives_arrive_and_leave_when_the_table_says_so(row: directives.DirectiveRow) -> None:
    text, name = SHOWN[row.name], row.name
    assert said(header(row.since, target_for(row.since), name) + text, target_for(row.since)) == []
    if row.since > (1, 0):
        version = before(row.since)
        assert said(header(version, target_for(version), name) + text, target_for(version))
    if row.before:
        assert said(header(row.before, target_for(row.before)) + text, target_for(row.before))
        assert not said(
            header(before(row.before), target_for(before(row.before))) + text, target_for(before(row.before))
        )
    if row.target:
        assert said(header(NEWEST, row.target) + text, row.target) == []
        assert said(header(NEWEST, target_before(row.target)) + text, target_before(row.target))


@pytest.mark.parametrize("row", directives.ROWS, ids=lambda row: row.name)
def test_a_directive_is_reported_just_before_it_arrives_and_not_then(row: directives.DirectiveRow) -> None:
    def codes(version: tuple[int, int], target: str) -> set[str]:
        found = check_text(header(version, target, row.name) + SHOWN[row.name])
        return {one.code for one in found} & {"version", "target", "removed"}

    assert codes(row.since, target_for(row.since)) == set()
    if row.since > (1, 0):
        assert "version" in codes(before(row.since), target_for(before(row.since)))
    if row.before:
        assert "removed" in codes(row.before, target_for(row.before))
    if row.target:
        assert "target" in codes(VERSIONS[-1], target_before(row.target))


def test_every_directive_is_shown() -> None:
    assert SHOWN.keys() == {row.name for row in directives.ROWS}


def test_special_registers_are_named_once() -> None:
    assert len(special_registers()) == len(specials.ROWS)


def test_ptx_versions_are_those_that_ptxas_reads() -> None:
    known = {version for version in VERSIONS if version <= NEWEST}
    following = {(major, minor + 1) for major, minor in known}
    taken = {
        version
        for version in known | following
        if not any("Unsupported .version" in message for _, message in said(header(version, "sm_10"), "sm_75"))
    }
    assert taken == known
