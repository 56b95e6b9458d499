"""`pyptx diff`: criteria for equal modules, and the report of differences."""

from __future__ import annotations

import re

import pytest

from pyptx_diff import Change, Comparison, compare
from pyptx_ir.syntax import PtxSyntaxError, parse

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
BANKS = "\t.reg .pred %p<9>;\n\t.reg .b32 %r<9>;\n\t.reg .f32 %f<9>;\n\t.reg .b64 %rd<9>;\n"
BODY = """\
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %ctaid.x;
loop:
	add.s32 %r3, %r1, 16;
	sub.s32 %r4, %r3, %r2;
	setp.lt.s32 %p1, %r4, 100;
	@%p1 bra loop;
	st.global.v2.u32 [%rd1+8], {%r3, %r4};
done:
	ret;
"""
LINES = BODY.splitlines()


def entry(body: str, *, banks: str = BANKS, before: str = "") -> str:
    """Return a module with one kernel; its body begins at line 10."""
    return f"{HEAD}{before}.visible .entry k(.param .u64 k_param_0)\n{{\n{banks}{body}}}\n"


def difference(body: str, other: str) -> Comparison:
    return compare(entry(body), entry(other))


def only(found: Comparison) -> Change:
    (change,) = found.changes()
    return change


SAME = {
    "two registers swapped everywhere": BODY.replace("%r1", "%r8").replace("%r2", "%r1").replace("%r8", "%r2"),
    "labels are exchanged": BODY.replace("loop", "x")
    .replace("done", "loop")
    .replace("x:", "done:")
    .replace("bra x", "bra done"),
    "an unused label is removed": BODY.replace("done:\n", ""),
    "a second label at the same position": BODY.replace("loop:", "first: loop:").replace("bra loop", "bra first"),
    "hexadecimal": BODY.replace("16", "0x10").replace("100", "0b1100100"),
    "an octal literal, and an offset of zero": BODY.replace("16", "020U").replace("[k_param_0]", "[k_param_0+0]"),
    "comments and blanks": BODY.replace("add.s32 ", "add.s32/* ! */  ").replace(";", " ; // so"),
    "braces": BODY.replace("\tadd", "\t{\n\tadd").replace("\tsetp", "\t}\n\tsetp"),
    "stray semicolons": BODY.replace("\tret;", "\t;ret;;"),
    "lines for debuggers": BODY.replace("\tret;", "\t.loc 1 2 3\n\tret;"),
    "parentheses": BODY.replace("16", "(16)"),
    "a leading zero in a register number": BODY.replace("%r3", "%r03"),
}


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_what_means_the_same_is_the_same(body: str) -> None:
    assert difference(BODY, body).same
    assert difference(body, BODY).same


DIFFERENT = {
    "constant": ("100", "101", ["operand 3: 100 → 101"]),
    "sign": ("16", "-16", ["operand 3: 16 → -16"]),
    "opcode": ("add.s32", "sub.s32", ["add.s32 → sub.s32"]),
    "type": ("lt.s32", "lt.u32", ["setp.lt.s32 → setp.lt.u32"]),
    "guard negated": ("@%p1", "@!%p1", ["guard: @%p1 → @!%p1"]),
    "guard gone": ("@%p1 bra", "bra", ["guard: @%p1 → none"]),
    "operands swapped": ("%r3, %r2", "%r2, %r3", None),
    "vector swapped": ("{%r3, %r4}", "{%r4, %r3}", None),
    "one register twice": ("{%r3, %r4}", "{%r4, %r4}", ["operand 2: %r3 → %r4"]),
    "another special register": ("%tid.x", "%tid.y", ["operand 2: %tid.x → %tid.y"]),
    "another name": ("%ctaid.x", "%nctaid.x", None),
    "offset": ("+8", "+12", ["operand 1: [%rd1+8] → [%rd1+12]"]),
    "an operand less": (", %r2;", ";", ["operand 3: %r2 → none"]),
    "an unsigned division": ("16", "(16U / 3)", None),
}


@pytest.mark.parametrize(("old", "new", "reasons"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_means_another_thing_is_told_in_its_line(old: str, new: str, reasons: list[str] | None) -> None:
    other = BODY.replace(old, new)
    line = 10 + next(at for at, text in enumerate(LINES) if old in text)
    changes = list(difference(BODY, other).changes())
    places = {change.before.line for change in changes if change.before is not None}
    assert line in places
    if reasons is not None:
        assert [list(change.reasons) for change in changes] == [reasons]


@pytest.mark.parametrize("at", range(len(LINES)))
def test_a_statement_less_is_one_that_is_removed(at: int) -> None:
    other = "".join(f"{line}\n" for place, line in enumerate(LINES) if place != at)
    found = difference(BODY, other)
    if LINES[at] == "done:":
        assert found.same
        return
    kinds = [(change.kind, change.before and change.before.line) for change in found.changes()]
    assert ("removed", 10 + at) in kinds
    added = [change for change in difference(other, BODY).changes() if change.kind == "added"]
    assert 10 + at in [change.after.line for change in added if change.after]


def test_a_branch_elsewhere_is_told_at_the_branch() -> None:
    """A branch to another label is a change if other branches refer to both labels; otherwise the label has moved."""
    both = BODY.replace("\tst.", "\t@!%p1 bra done;\n\tst.").replace("\tret", "\t@%p1 bra loop;\n\tret")
    change = only(difference(both, both.replace("\t@%p1 bra loop;\n\t@!", "\t@%p1 bra done;\n\t@!")))
    assert change.before is not None
    assert change.before.line == 17
    assert change.reasons == ("operand 1: loop → done",)
    moved = difference(BODY, BODY.replace("bra loop", "bra done"))
    assert [one.kind for one in moved.changes()] == ["removed", "added"]


def test_an_exchange_of_two_statements_is_a_move() -> None:
    first, second = LINES[4:6]
    other = BODY.replace(f"{first}\n{second}\n", f"{second}\n{first}\n")
    assert sorted(change.kind for change in difference(BODY, other).changes()) == ["added", "removed"]


def test_a_register_that_is_used_again_is_not_the_register_that_it_was() -> None:
    """Data flow is the same, register allocation is not: `same` requires a one-to-one mapping of register names."""
    other = BODY.replace("sub.s32 %r4, %r3, %r2", "sub.s32 %r2, %r3, %r2").replace("%r4", "%r2")
    assert not difference(BODY, other).same


def test_registers_of_another_type_are_told_with_their_declarations() -> None:
    banks = BANKS.replace("%r<9>", "%r<4>; .reg .s32 %r4")
    change = only(compare(entry(BODY), entry(BODY, banks=banks)))
    assert change.before is not None
    assert change.after is not None
    assert (change.before.text, change.after.text) == (".reg .b32 %r4;", ".reg .s32 %r4;")
    assert change.before.line == 7


def test_unused_registers_and_the_order_of_declarations_do_not_count() -> None:
    banks = "\t.reg .b64 %rd<99>; .reg .b32 %r4, %r3, %r2, %r1;\n\t.reg .pred %p1; .reg .f64 %unused;\n"
    assert compare(entry(BODY), entry(BODY, banks=banks)).same


def test_scopes_hide_names() -> None:
    inner = "\t{\n\t.reg .b32 %r1;\n\tmov.u32 %r1, 1;\n\tadd.s32 %r2, %r1, %r1;\n\t}\n\tadd.s32 %r2, %r1, %r1;\n"
    flat = "\t.reg .b32 t;\n\tmov.u32 t, 1;\n\tadd.s32 %r2, t, t;\n\tadd.s32 %r2, %r1, %r1;\n"
    assert difference(inner, flat).same
    assert not difference(inner, flat.replace("t, t", "%r1, %r1").replace("mov.u32 t", "mov.u32 %r1")).same
    assert not difference(inner, inner.replace("\t}\n", "").replace("%r1;\n\tmov", "%r1;\n\tmov") + "\t}\n").same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0f3F800000", "0F3f800000", True),
        ("0f3F800000", "1.0", True),  # ptxas 13.0 generates equal code for add.f32 with both literals
        ("1.0", "1e0", True),
        ("1.0", "0d3FF0000000000000", True),
        ("0f3DCCCCCD", "0.1", False),  # 0.1 is not equal to its nearest float
        ("0.0", "-0.0", False),
        ("0f7FC00000", "0f7FC00001", False),
        ("0f7FC00000", "0d7FF8000000000000", False),
        ("1.0", "1", False),
    ],
)
def test_floats_are_the_same_by_their_bits(one: str, other: str, same: bool) -> None:  # noqa: FBT001 - a table's column
    line = "\tadd.f32 %f1, %f2, {};\n"
    assert difference(line.format(one), line.format(other)).same is same


@pytest.mark.parametrize("opcode", ["mov.b64 %rd1", "add.f64 %rd1", "mov.b32 %r1", "cvt.rn.f16.f32 %r1"])
def test_a_double_is_no_single_where_the_type_is_another(opcode: str) -> None:
    assert not difference(f"\t{opcode}, 1.0;\n", f"\t{opcode}, 0f3F800000;\n").same


def test_a_deleted_statement_in_a_long_series_is_one_change() -> None:
    loads = [f"\tld.global.u32 %r{i}, [%rd1+{4 * i}];\n" for i in range(100)]
    stores = [f"\tst.global.u32 [%rd2+{4 * i}], %r{i};\n\tadd.s32 %r200, %r200, %r{i};\n" for i in range(100)]
    banks = "\t.reg .b32 %r<999>;\n\t.reg .b64 %rd<9>;\n"
    before = entry("".join(loads + stores), banks=banks)
    after = entry("".join(loads[:50] + loads[51:] + stores), banks=banks).replace("%r", "%q").replace("%qd", "%rd")
    change = only(compare(before, after))
    assert change.before is not None
    assert change.before.text == "ld.global.u32 %r50, [%rd1+200];"


# --- modules ----------------------------------------------------------------------------------------

HALF = ".func (.param .f32 out) half(.param .f32 x)\n{\n\tret;\n}\n"
TWICE = ".func (.param .f32 out) twice(.param .f32 x)\n{\n\tbar.sync 0;\n\tret;\n}\n"
CALLS = "\t.param .f32 a, b;\n\tcall (a), half, (b);\n\tcall (a), twice, (b);\n"


def test_functions_may_stand_in_another_order() -> None:
    assert compare(entry(CALLS, before=HALF + TWICE), entry(CALLS, before=TWICE + HALF)).same


def test_private_functions_may_exchange_their_names() -> None:
    swapped = (HALF + TWICE).replace("half", "x").replace("twice", "half").replace(" x(", " twice(")
    calls = CALLS.replace("half", "x").replace("twice", "half").replace("x,", "twice,")
    found = compare(entry(CALLS, before=HALF + TWICE), entry(calls, before=swapped))
    assert found.same
    assert {(one.before, one.after) for one in found.renamings} == {("half", "twice"), ("twice", "half")}
    assert not compare(entry(CALLS, before=HALF + TWICE), entry(calls, before=HALF + TWICE)).same


def test_private_functions_that_do_the_same_are_told_apart_by_their_callers() -> None:
    both = HALF + HALF.replace("half", "other")
    calls = "\t.param .f32 a, b;\n\tcall (a), half, (b);\n\tcall (a), other, (b);\n\tcall (a), half, (b);\n"
    exchanged = calls.replace("half", "x").replace("other", "half").replace("x,", "other,")
    assert compare(entry(calls, before=both), entry(exchanged, before=both)).same
    assert not compare(entry(calls, before=both), entry(exchanged.replace("half", "other"), before=both)).same


def test_they_are_told_apart_by_tables_too() -> None:
    both = HALF + HALF.replace("half", "other")
    tables = ".global .u64 one[2] = {half, other};\n.global .u64 two[2] = {half, half};\n"
    exchanged = tables.replace("half", "x").replace("other", "half").replace("x", "other")
    assert compare(entry(USES, before=both + tables), entry(USES, before=both + exchanged)).same
    assert not compare(
        entry(USES, before=both + tables), entry(USES, before=both + tables.replace("{half, half}", "{half, other}"))
    ).same


def test_the_name_of_a_kernel_counts() -> None:
    change = only(compare(entry(BODY), entry(BODY).replace(" k(", " kernel(")))
    assert change.reasons == (
        "the name k is visible outside the module",
        "the name kernel is visible outside the module",
    )
    private = entry(CALLS, before=HALF + TWICE)
    assert compare(private, private.replace("half", "h").replace("twice", "t")).same
    linked = private.replace(".func", ".visible .func")
    assert not compare(linked, linked.replace("half", "h").replace("twice", "t")).same


def test_a_kernel_more_is_one_change() -> None:
    found = compare(entry(BODY), entry(BODY) + entry(BODY).removeprefix(HEAD).replace("k(", "another("))
    assert only(found).kind == "added"
    assert [(part.before, part.after) for part in found.parts] == [(None, "another")]


TABLES = ".global .u32 one[2] = {1, 2};\n.global .u32 two[2] = {1, 3};\n"
USES = "\tmov.u64 %rd1, one;\n\tadd.s64 %rd1, %rd1, 4;\n\tmov.u64 %rd2, two;\n\tsub.s64 %rd2, %rd2, 4;\n"


def test_variables_are_known_by_who_uses_them() -> None:
    found = compare(entry(USES, before=TABLES), entry(USES, before=TABLES.replace("3}", "4}")))
    assert [change.after and change.after.text for change in found.changes()] == [".global .u32 two[2] = {1, 4};"]
    exchanged = USES.replace("one", "x").replace("two", "one").replace("x;", "two;")
    assert not compare(entry(USES, before=TABLES), entry(exchanged, before=TABLES)).same
    names = TABLES.replace("one", "x").replace("two", "one").replace("x[", "two[")
    assert compare(entry(USES, before=TABLES), entry(exchanged, before=names)).same


def test_initializers_may_name_what_is_renamed() -> None:
    text = HEAD + ".global .u32 a;\n.global .u32 b;\n.visible .global .u64 p[2] = {a, b};\n"
    assert compare(text, text.replace("a;", "x;").replace("{a", "{x")).same
    assert not compare(text, text.replace("{a, b}", "{a, a}")).same


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".version 9.0", ".version 8.8"),
        ("sm_90a", "sm_90"),
        (".visible .entry", ".entry"),
        (".param .u64 k_param_0", ".param .u32 k_param_0"),
        (".param .u64 k_param_0", ".param .u64 .ptr .global .align 16 k_param_0"),
        ("k_param_0)", "k_param_0) .maxntid 128, 1, 1"),
        ("\tret;", '\t.pragma "nounroll";\n\tret;'),
        ("\tret;", "\t.shared .b8 more[16];\n\tret;"),
    ],
)
def test_directives_and_declarations_count(old: str, new: str) -> None:
    other = entry(BODY).replace(old, new)
    assert not compare(entry(BODY), other).same
    assert not compare(other, entry(BODY)).same


def test_the_line_of_a_parameter_is_its_own() -> None:
    text = HEAD + ".entry k(\n\t.param .u64 a,\n\t.param .u32 b\n)\n.maxntid 128, 1, 1\n{\n\tret;\n}\n"
    change = only(compare(text, text.replace("u32 b", "s32 b")))
    assert (change.before and change.before.line, change.after and change.after.text) == (6, ".param .s32 b")
    assert only(compare(text, text.replace("128", "256"))).before.line == 8  # type: ignore[union-attr] # not None


def test_debugging_information_counts_when_it_is_asked_for() -> None:
    body = BODY.replace("\tret;", "\t.loc 1 2 3\n\tret;")
    text = entry(body) + '\t.file 1 "k.cu"\n\t.section .debug_loc\n\t{\n\t.b64 done\n\t.b8 1\n\t}\n'
    for old, new in (("1 2 3", "1 2 4"), ("k.cu", "l.cu"), (".b8 1", ".b8 2"), (".b64 done", ".b64 loop")):
        assert compare(text, text.replace(old, new)).same
        assert not compare(text, text.replace(old, new), debug=True).same
    assert compare(text, text.replace("done", "end"), debug=True).same


def test_each_module_of_a_listing_has_its_counterpart() -> None:
    first, second = entry(BODY), entry(BODY.replace("16", "17"))
    assert compare(first + second, first + second).same
    assert not compare(first + second, second + first).same
    assert not compare(first + second, first).same


def test_renamings_say_of_each_name_what_it_is_now() -> None:
    found = difference(BODY, BODY.replace("%r1", "%r8").replace("loop", "again"))
    told = {(one.kind, one.before, one.after, one.function) for one in found.renamings}
    assert told == {("register", "%r1", "%r8", "k"), ("label", "loop", "again", "k")}


def test_trees_and_texts_may_be_given_and_what_is_no_ptx_is_refused() -> None:
    assert compare(parse(entry(BODY)), entry(BODY)).same
    with pytest.raises(PtxSyntaxError):
        compare(entry(BODY), "add")


# --- names in reports -------------------------------------------------------------------------------


def shown(before: str, after: str) -> list[str]:
    """Return the lines of a report with changes and their context, without line numbers."""
    found = compare(before, after, context=1)
    places = [
        (change.kind, change.before, change.after) for part in found.parts for hunk in part.hunks for change in hunk
    ]
    return [
        f"{mark} {place.shown}"
        for kind, one, two in places
        for mark, place in ((" ", two),) * (kind == "same") or (("-", one), ("+", two))
        if place is not None
    ]


RENAMED = {f"%r{number}": f"%x{number + 3}" for number in range(9)} | {"%rd1": "%data", "loop": "again"}


def renamed(text: str) -> str:
    """Return a module with renamed registers and labels."""
    banks = BANKS.replace("%r<9>", "%x<19>").replace("%rd<9>", "%data")
    return re.sub(r"%?\w+", lambda found: RENAMED.get(found[0], found[0]), text.replace(BANKS, banks))


def test_a_hunk_has_the_names_of_the_second_module() -> None:
    edited = BODY.replace("16", "17").replace("\tst.", "\tpopc.b32 %r8, %r4;\n\tst.").replace("+8]", "+12]")
    assert shown(entry(BODY), renamed(entry(edited))) == [
        "  again:",
        "- add.s32 %x6, %x4, 16;",
        "+ add.s32 %x6, %x4, 17;",
        "  sub.s32 %x7, %x6, %x5;",
        "  @%p1 bra again;",
        "+ popc.b32 %x11, %x7;",
        "- st.global.v2.u32 [%data+8], {%x6, %x7};",
        "+ st.global.v2.u32 [%data+12], {%x6, %x7};",
        "  ret;",
    ]
    (_, _, store) = compare(entry(BODY), renamed(entry(edited))).changes()
    assert store.reasons == ("operand 1: [%data+8] → [%data+12]",)
    assert store.before is not None
    assert store.before.text == "st.global.v2.u32 [%rd1+8], {%r3, %r4};"


@pytest.mark.parametrize("line", [2, 4, 5, 6])
def test_a_statement_that_is_gone_has_the_names_of_the_second_module(line: int) -> None:
    other = "".join(f"{each}\n" for at, each in enumerate(LINES) if at != line)
    lost = [each for each in shown(entry(BODY), renamed(entry(other))) if each[0] == "-"]
    assert f"- {renamed(LINES[line]).strip()}" in lost


def test_a_name_without_a_counterpart_is_not_taken_for_another_one() -> None:
    """%r1 of the first module is missing in the second, whose %r1 is %r2 of the first."""
    before = "\tmov.u32 %r1, %clock;\n\tmov.u32 %r2, %tid.x;\n\tadd.s32 %r3, %r2, 7;\n\tst.u32 [%rd1], %r3;\n"
    after = before.replace("\tmov.u32 %r1, %clock;\n", "").replace("%r2", "%r1").replace("%r3", "%r2")
    assert shown(entry(before), entry(after))[-2:] == ["- mov.u32 A:%r1, %clock;", "  mov.u32 %r1, %tid.x;"]
    (change,) = compare(entry(before), entry(after)).changes()
    assert change.before is not None
    assert change.before.as_json() == {
        "line": 10,
        "text": "mov.u32 %r1, %clock;",
        "shown": "mov.u32 A:%r1, %clock;",
    }


def test_operands_of_changed_statements_are_counterparts_in_what_is_shown() -> None:
    before = "\tadd.s32 %r1, 1, 2;\n\tsub.s32 %r2, 3, 4;\n"
    after = "\tadd.s32 %r5, 1, 3;\n\tsub.s32 %r1, 3, 5;\n"
    assert shown(entry(before), entry(after))[-4:] == [
        "- add.s32 %r5, 1, 2;",
        "+ add.s32 %r5, 1, 3;",
        "- sub.s32 %r1, 3, 4;",
        "+ sub.s32 %r1, 3, 5;",
    ]


def test_words_that_are_no_names_stay() -> None:
    banks = "\t.reg .b32 add, x, global, s32;\n\t.reg .pred p;\n"
    body = '\t@p add.s32 add, x, 1;\n\tst.global.s32 [global], s32;\n\t.pragma "add x";\n'
    other = body.replace("1;", "2;").replace("st.global.s32", "st.weak.global.s32").replace('"add x"', '"add y"')
    names = {" add,": " one,", " x,": " two,", "[global]": "[three]", " s32;": " four;", "@p": "@q"}
    for old, new in names.items():
        other = other.replace(old, new)
    given = banks.replace("add, x, global, s32", "one, two, three, four").replace(" p;", " q;")
    assert [line for line in shown(entry(body, banks=banks), entry(other, banks=given)) if line[0] == "-"] == [
        "- @q add.s32 one, two, 1;",
        "- st.global.s32 [three], four;",
        '- .pragma "add x";',
    ]


def test_redeclared_registers_and_private_functions_have_them_too() -> None:
    before, after = entry(BODY), entry(BODY, banks=BANKS.replace("%r<9>", "%r<4>; .reg .s32 %q4"))
    assert shown(before, after.replace("%r4", "%q4")) == ["- .reg .b32 %q4;", "+ .reg .s32 %q4;"]
    calls = entry(CALLS, before=HALF + TWICE)
    other = calls.replace("half", "h").replace("call (a), h, (b)", "call (b), h, (a)")
    assert [line for line in shown(calls, other) if line[0] != " "] == ["- call (a), h, (b);", "+ call (b), h, (a);"]


def test_public_names_stay_what_they_are() -> None:
    assert shown(entry(BODY), entry(BODY).replace(" k(", " kernel("))[:2] == [
        "- .visible .entry k",
        "+ .visible .entry kernel",
    ]


# --- modules with one kernel each -------------------------------------------------------------------

UNLIKE = "\tmov.u32 %r5, %clock;\n\tbar.sync 0;\n\tmul.lo.u32 %r6, %r5, %r5;\n\tret;\n"


def test_the_only_kernels_are_compared_with_each_other() -> None:
    other = entry(UNLIKE).replace(" k(", " other(")
    found = compare(entry(BODY), other)
    (part,) = found.parts
    assert (part.kind, part.before, part.after) == ("entry", "k", "other")
    changes = list(part.changes())
    assert changes[0].kind == "changed"
    assert changes[0].reasons == (
        "the name k is visible outside the module",
        "the name other is visible outside the module",
    )
    assert len(changes) > 8
    helped = compare(entry(BODY, before=HALF), entry(UNLIKE, before=TWICE).replace(" k(", " other("))
    assert ("k", "other") in [(part.before, part.after) for part in helped.parts]


def test_unlike_kernels_of_several_are_removed_and_added() -> None:
    more = entry(BODY).removeprefix(HEAD).replace(" k(", " more(")
    found = compare(entry(BODY), entry(UNLIKE).replace(" k(", " other(") + more.replace("16", "15"))
    assert [(part.before, part.after) for part in found.parts] == [(None, "other"), ("k", "more")]
