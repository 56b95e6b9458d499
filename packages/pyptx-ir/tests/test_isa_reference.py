"""Reference of the instruction table: every row has an `Entry` with a summary, and the search finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.commands import main
from pyptx_ir.isa.forms import forms
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.isa.reference.entries import ELSEWHERE, entries
from pyptx_ir.isa.reference.search import available, nearest, search
from pyptx_ir.isa.reference.sections import sections
from pyptx_ir.isa.reference.wording import availability, listed, operands
from pyptx_ir.isa.rows import ptx, row
from pyptx_ir.isa.table.chapters import ROWS
from pyptx_ir.origins import install_command
from pyptx_ir.plugins.manager import manager

if TYPE_CHECKING:
    from pyptx_ir.isa.reference.entries import Entry
    from pyptx_ir.isa.rows import InstructionRow

ALL = tuple(manager().instructions())
ENTRIES = entries(ROWS)


def names(query: str, *, target: str | None = None, version: tuple[int, int] | None = None) -> list[str]:
    return [result.entry.name for result in available(search(ENTRIES, query), target, version)]


def entry(name: str) -> Entry:
    return next(each for each in ENTRIES if each.name == name)


def test_every_summary_is_one_sentence_under_one_name() -> None:
    said = {(each.instruction, each.summary) for each in ALL if each.summary}
    assert len(said) == len({name for name, _ in said}) >= 150
    assert [text for _, text in said if not text.endswith(".") or not text[0].isupper() or len(text) > 110] == []


def test_every_row_is_a_form_of_an_instruction_with_a_summary() -> None:
    assert [each.name for each in ENTRIES if each.chapter == ELSEWHERE or not each.summary] == []
    assert {form.row for each in ENTRIES for form in each.forms} == set(ROWS)


@pytest.mark.parametrize(
    ("row_of_it", "name"),
    [
        (row("add.sat.s32 d, a, b"), "add"),
        (row("add.f16 d, a, b", manual="add (half precision)"), "add"),
        (row("mad.lo.cc.u32 d, a, b, c", manual="mad.cc"), "mad.cc"),
        (row("ld.global.nc.u32 d, [a]", manual="ld", instruction="ld.global.nc"), "ld.global.nc"),
    ],
)
def test_an_instruction_is_called_as_its_section_of_the_manual_unless_its_rows_say_otherwise(
    row_of_it: InstructionRow, name: str
) -> None:
    assert [each.name for each in entries([row_of_it])] == [name]


def test_every_row_spells_the_name_of_its_instruction() -> None:
    for each in ROWS:
        spelt = iter([word for item in compile_row(each).items for word in sorted(item.words)])
        words = each.instruction.split(".")
        assert words[0] == each.opcode
        assert all(any(found == word or found.startswith(f"{word}::") for found in spelt) for word in words[1:]), each


def test_a_third_partys_row_is_an_entry_of_its_own() -> None:
    (found,) = entries([row("acme.frob.b32 d, a", manual="acme.frob")])
    assert (found.name, found.chapter, found.summary) == ("acme.frob", ELSEWHERE, "")


def test_every_row_can_be_put_in_words() -> None:
    for each in ROWS:
        pattern = compile_row(each)
        assert [name for name, _ in operands(pattern)] == [place.name for place in pattern.places]
        assert all(words and "{" not in words for _, words in operands(pattern)), each.name
        assert availability(each).startswith(f"PTX {each.since[0]}.{each.since[1]}, ")
        ((block,),) = (section.blocks for section in sections([pattern]))
        assert all(f".{value}" in block.text for _, values in each.slots for value in values)


def test_what_is_said_of_a_row_is_what_it_says() -> None:
    form = row(
        "cp.sem{.hint} [dst], n{|p}{, policy}",
        sem=("a", "b"),
        hint=("L2::cache_hint",),
        operands={"n": "4*u32 or _", "policy": "u64 with L2::cache_hint"},
        since=ptx(8, 6),
        targets=("sm_100a", "sm_103a", "sm_120f"),
    )
    (section,) = sections([compile_row(form)])
    assert section.blocks[0].text.splitlines() == [
        "cp.sem{.hint} [dst], n{|p}{, policy};",
        "  .sem = { .a, .b }",
        "  .hint = { .L2::cache_hint }",
    ]
    assert availability(form) == "PTX 8.6, sm_120f and its family, or sm_100a or sm_103a only"
    assert dict(operands(compile_row(form))) == {
        "dst": "read: an address",
        "n": "read: a vector of 4 elements, each a register or literal of type `.u32`; optionally followed by `|` "
        "and a register or literal of type `.pred`; also allowed: the sink symbol `_`",
        "policy": "read, only with `.L2::cache_hint`: a register or literal of type `.u64`",
    }
    gone = row("vote.all.pred p, a", before=("sm_70", ptx(6, 4)))
    assert availability(gone) == "PTX 1.0, any target; removed from sm_70 on in PTX 6.4 and later"
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a or b", "a, b or c"]


def test_forms_that_differ_in_one_slot_are_shown_as_one_and_lines_with_equal_slots_together() -> None:
    types = ("u32", "s32")
    forms_of_it = [
        row("tex.geom.v4.type d, [a]", geom=("1d",), type=types),
        row("tex.geom.type d, [a]", geom=("1d", "2d"), type=types),
        row("tex.geom.v4.type d, [a]", geom=("2d",), type=types),
        row("tex.geom.v4.type d, [a]", geom=("3d",), type=("f32",)),
        row("tex.geom.v4.type d, [a]", geom=("3d",), type=types, since=ptx(2, 0)),
    ]
    first, second = sections(map(compile_row, forms_of_it))
    assert [block.lines for block in first.blocks] == [
        ("tex.geom.v4.type d, [a]", "tex.geom.type d, [a]"),
        ("tex.geom.v4.type d, [a]",),
    ]
    assert first.blocks[0].slots == (("geom", ("1d", "2d")), ("type", types))
    assert second.availability == "PTX 2.0, any target"
    assert dict(first.operands)["a"] == ("read: an address",)


def test_sections_say_of_every_form_what_its_row_says() -> None:
    for each in ENTRIES:
        shown = {section.availability: section for section in sections(each.forms)}
        for form in each.forms:
            section = shown[availability(form.row)]
            said = dict(section.operands)
            assert all(words in said[name] for name, words in operands(form))
            assert any(
                form.row.syntax in block.lines
                and all(set(values) <= set(dict(block.slots)[name]) for name, values in form.row.slots)
                for block in section.blocks
            )


@pytest.mark.parametrize("each", ENTRIES, ids=lambda each: each.name)
def test_an_instruction_is_found_by_its_name(each: Entry) -> None:
    results = search(ENTRIES, each.name)
    assert results[0].entry == each
    assert results[0].exact


def test_an_opcode_finds_the_forms_that_it_spells() -> None:
    for each in ENTRIES:
        form = each.forms[-1]
        opcode = next(forms(form.row)).removesuffix(";").split()[0]
        (result,) = search([each], opcode)
        assert result.exact
        assert form in result.entry.forms


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("bf16x2 cvt", "cvt"),
        ("CVT BF16X2", "cvt"),
        ("fp8 cvt", "cvt"),
        ("exchange lanes", "shfl"),
        ("funnel", "shf"),
        ("shuffle sync", "shfl.sync"),
        ("transpose", "movmatrix"),
        ("commit_group", "cp.async.commit_group"),
        ("mad.lo.u32", "mad"),
        ("add noftz", "atom"),
    ],
)
def test_words_in_any_order_find_it(query: str, first: str) -> None:
    assert names(query)[0] == first


def test_of_an_instruction_the_forms_are_shown_that_the_words_fit() -> None:
    (result,) = search(ENTRIES, "cvt e4m3x2")
    assert result.entry.forms
    assert all("e4m3x2" in {word for item in form.items for word in item.words} for form in result.entry.forms)
    assert len(result.entry.forms) < len(entry("cvt").forms)


def test_filters_leave_what_a_target_and_a_version_have() -> None:
    assert "redux.sync" in names("redux")
    assert names("redux", target="sm_75") == []
    assert names("redux", target="sm_80") == names("redux", target="sm_120f") == ["redux.sync"]
    assert names("redux", version=(6, 5)) == []
    assert "vote" in names("vote", target="sm_75", version=(6, 3))
    assert names("vote", target="sm_75", version=(6, 4)) == ["vote.sync"]


def test_a_misspelt_name_brings_up_the_nearest() -> None:
    assert names("cp.asinc") == []
    assert nearest(ENTRIES, "cp.asinc")[0] == "cp.async"
    assert nearest(ENTRIES, "shf1.sync")[0] == "shfl.sync"
    assert nearest(ENTRIES, "qqqqqqqqqqqq") == ()


# --- the command --------------------------------------------------------------------------------------


def test_the_command_shows_an_instruction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "bar.warp.sync"]) == 0
    assert capsys.readouterr().out == (
        "bar.warp.sync (Synchronization)\n"
        "  Synchronize the lanes of the warp in a membermask.\n"
        "\n"
        "  PTX 6.0, any target\n"
        "    bar.warp.sync membermask;\n"
        "      membermask  read: a 32-bit integer register or constant\n"
    )


def test_the_command_lists_what_many_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "take", "number"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert any(line.startswith("min ") and line.endswith(entry("min").summary) for line in lines)


def test_the_command_names_what_else_is_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "cp.async"]) == 0
    _, _, others = capsys.readouterr().out.partition("\nSee also: ")
    assert "cp.async.wait_all" in others.replace("\n", " ").split(", ")


def test_the_command_in_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "--json", "vote", "--version", "6.3", "--target", "sm_75"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["name"] == "vote"
    assert first["summary"] == entry("vote").summary
    assert {"syntax", "slots", "operands", "since", "targets", "gone", "manual"} == first["forms"][0].keys()
    assert first["forms"][0]["gone"] == {"from": "sm_70", "since": "6.4"}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["nonesuch_instruction"], 1, "no instruction matches 'nonesuch_instruction'"),
        (["cp.asinc"], 1, "did you mean cp.async"),
        (["match.sync", "--target", "sm_60"], 1, "no form of match.sync matches; it needs PTX 6.0, sm_70 or later"),
        (["redux.sync", "--target", "sm_91"], 2, "unknown target 'sm_91'"),
        (["redux.sync", "--version", "new"], 2, "expected a PTX version such as 8.7, got 'new'"),
        ([], 2, "usage: pyptx isa"),
    ],
)
def test_the_command_says_why_it_shows_nothing(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["isa", *words]) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err


def test_the_command_names_the_package_that_has_what_is_not_installed() -> None:
    script = "from pyptx_ir.commands import main; raise SystemExit(main(['isa', 'wgmma', 'fence']))"
    environment = {**os.environ, "PYPTX_DISABLE_PLUGIN_AUTOLOAD": "1", "PYPTX_PLUGINS": ""}
    call = [sys.executable, "-c", script]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"wgmma.fence is provided by pyptx-arch-hopper: {install_command('hopper')}\n"
