"""Each rule transpiles its example's PTX to its example's Python, and the Python emits that PTX."""

from __future__ import annotations

import textwrap

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.reading.mangled import plain
from pyptx_transpile.rules.forms import FORM
from pyptx_transpile.rules.label_names import LABEL
from pyptx_transpile.rules.mangled_names import NAMES
from pyptx_transpile.rules.special_registers import SPECIAL
from pyptx_transpile.rules.table import RULES
from pyptx_transpile.rules.turns import runs_of

from .test_proof import rebuilt

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n"
REGISTERS = "\t.reg .pred %p<4>;\n\t.reg .b32 %r<9>;\n\t.reg .b64 %rd<9>;\n"


def module(body: str) -> str:
    return f"{HEAD}{REGISTERS}\t{body}\n\tret;\n}}\n"


NAMINGS = (NAMES, SPECIAL, FORM, LABEL)  # rules that only name registers or labels and rewrite no statements


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule not in NAMINGS], ids=lambda rule: rule.name)
def test_the_example_is_what_the_rule_does(rule: object) -> None:
    (one,) = [each for each in RULES if each is rule]
    done = transpile(module(one.before), RULES)
    assert done.applied[one.name] == (3 if one.name == "function" else 1), done.text
    assert textwrap.indent(one.after, "    ") in done.text
    assert not done.rejected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_have_names_and_words_of_their_own(rule: object) -> None:
    (one,) = [each for each in RULES if each is rule]
    assert one.name.isidentifier()
    assert one.summary
    assert one.before != one.after


def test_functions_are_called_as_in_cpp() -> None:
    source = HEAD.replace("entry k()", "entry _ZN4mine5scaleIfLi3EEEvPT_i()") + "\tret;\n}\n"
    text = transpile(source, RULES).text
    assert "def scale() -> None:" in text
    assert '"""C++: void mine::scale<float, 3>(float*, int)."""' in text
    assert "def ZN4mine5scaleIfLi3EEEvPT_i() -> None:" in transpile(source).text


def test_special_registers_are_functions_where_the_rule_is_used() -> None:
    source = module(SPECIAL.before)
    assert SPECIAL.after in transpile(source, (SPECIAL,)).text
    assert 'ptx.inst.mov.u32(r[1], "%tid.x")' in transpile(source).text


def test_labels_that_are_called_by_their_places_have_no_names() -> None:
    source = module(LABEL.before)
    done = transpile(source, RULES)
    assert textwrap.indent(LABEL.after, "    ") in done.text
    assert 'labels="$L__BB{function}_{block}"' in done.text
    assert rebuilt(done.text) == source
    named = transpile(source, [rule for rule in RULES if rule is not LABEL]).text
    assert 'with ptx.if_(~p[1], label="$L__BB0_2"):' in named
    assert "labels=" not in named


def test_names_are_variables_where_they_are_known() -> None:
    source = (
        ".version 8.0\n.target sm_90\n.address_size 64\n\n.shared .b8 _ZN3M124smemE[64];\n.shared .b8 unused[8];\n"
        ".func (.param .b32 func_retval0) _Z1gi(.param .b32 _Z1gi_param_0)\n{\n\t.reg .b32 %r<2>;\n"
        "\tld.param.b32 %r1, [_Z1gi_param_0];\n\tst.param.b32 [func_retval0], %r1;\n\tret;\n}\n"
        ".visible .entry _Z4mainPi(.param .u64 data, .param .u64 later)\n{\n\t.reg .b64 %smem;\n\t.reg .b32 %r<2>;\n"
        "\t.param .b32 p0;\n\t.param .b32 v;\n\tmov.u64 %smem, _ZN3M124smemE;\n\tld.param.u64 %smem, [data+4];\n"
        "\tst.param.b32 [p0], %r1;\n\tcall (v), _Z1gi, (p0);\n\tcall (v), _Z1hi, (p0);\n\tret;\n}\n"
    )
    text = transpile(source, RULES).text
    for line in (
        'smem_2 = module.var("shared", "_ZN3M124smemE", b8, 64)',
        'module.var("shared", "unused", b8, 8)',
        '@module.func("_Z1gi", [b32], [b32])',
        "def g(func_retval0: str, *params: str) -> None:",
        "    ptx.inst.ld.param.b32(r[1], ptx.addr(params[0]))",
        '@module.entry("_Z4mainPi", [module.param("data", u64), module.param("later", u64)], linking="visible")',
        "def main(data: str, later: str) -> None:",
        '    (smem,) = reg.declare(b64, "%smem")',
        "    ptx.inst.mov.u64(smem, smem_2)",
        "    ptx.inst.ld.param.u64(smem, ptx.addr(data, 4))",
        "    ptx.inst.call((v,), g, (p0,))",
        '    ptx.inst.call((v,), "_Z1hi", (p0,))',
    ):
        assert f"\n{line}\n" in text, text


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("_ZN3M124smemE", "smem"),
        ("_ZZ4gemmILi8EEviPfE4left", "left"),
        ("_ZZN1n1fEvE4tile_0", "tile"),
        ("_ZNK3Box4sizeEv", "size"),
        ("_Z1kPi", "k"),
        ("_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIiEEEEvNT_6ParamsE", "device_kernel"),
        ("_ZN12_GLOBAL__N_13addEv", "add"),
        ("plain", "plain"),
        ("_Znonsense", "_Znonsense"),
        ("_Z10reflect_atfPfff_param_0", "_Z10reflect_atfPfff_param_0"),
    ],
)
def test_the_identifier_in_a_mangled_name(name: str, short: str) -> None:
    assert plain(name) == short


SHAPES = {
    "else": (
        "@%p1 bra $L1;\n\tmov.b32 %r1, 1;\n\tbra.uni $L2;\n$L1:\n\tmov.b32 %r1, 2;\n$L2:",
        'with ptx.if_(~p[1], label="$L1"):|with ptx.else_(end_label="$L2", end_uniform=True):',
    ),
    "else if": (
        (
            "@%p1 bra $L1;\n\tmov.b32 %r1, 1;\n\tbra.uni $L3;\n$L1:\n\tsetp.lt.s32 %p2, %r1, 8;\n\t@%p2 bra $L3;\n"
            "\tmov.b32 %r1, 2;\n$L3:"
        ),
        (
            'with ptx.if_(~p[1], label="$L1"):|'
            'with ptx.elif_(~ptx.inst.setp.lt.s32(p[2], r[1], 8), label="$L3", end_label="$L3", end_uniform=True):'
        ),
    ),
    "else with a statement before its if": (
        (
            "@%p1 bra $L1;\n\tmov.b32 %r1, 1;\n\tbra $L3;\n$L1:\n\tmov.b32 %r1, 3;\n\t@%p2 bra $L3;\n"
            "\tmov.b32 %r1, 2;\n$L3:"
        ),
        'with ptx.else_(end_label="$L3"):|with ptx.if_(~p[2], label="$L3", define_label=False):',
    ),
    "break out of the first block": (
        "@%p1 bra $L1;\n\t@%p2 bra $L3;\n\tmov.b32 %r1, 1;\n\tbra.uni $L3;\n$L1:\n\tmov.b32 %r1, 2;\n$L3:",
        (
            'with ptx.if_(~p[1], label="$L1", end_label="$L3"):|ptx.break_("$L3", pred=p[2])|'
            "with ptx.else_(end_uniform=True):"
        ),
    ),
    "two ifs with one end label": (
        "@%p1 bra $L1;\n\tmov.b32 %r1, 1;\n\t@!%p2 bra $L1;\n\tmov.b32 %r1, 2;\n$L1:",
        'with ptx.if_(~p[1], label="$L1"):|with ptx.if_(p[2], label="$L1", define_label=False):',
    ),
    "endless loop": (
        "$L1:\n\t@%p1 bra $L2;\n\tbra.uni $L1;\n$L2:",
        'with ptx.loop("$L1", end_label="$L2"):|ptx.break_(',
    ),
    "continue of a loop": (
        "$L1:\n\t@%p1 bra $L1;\n\tmov.b32 %r1, 1;\n\t@%p2 bra $L1;",
        'with ptx.loop("$L1", pred=p[2], next_label="$L1"):|ptx.continue_(pred=p[1])',
    ),
    "break out of two loops": (
        "$L1:\n$L2:\n\t@%p1 bra $L3;\n\t@%p2 bra $L2;\n\t@%p3 bra $L1;\n$L3:",
        'with ptx.loop("$L1", pred=p[3], end_label="$L3"):|ptx.break_("$L3", pred=p[1])',
    ),
    "overlapping forward branches": (
        "@%p1 bra $L1;\n\t@%p2 bra $L2;\n$L1:\n\tmov.b32 %r1, 1;\n$L2:",
        'with ptx.block("$L2"):|with ptx.if_(~p[1], label="$L1"):|ptx.break_("$L2", pred=p[2])',
    ),
    "break out of an if": (
        "@%p1 bra $L3;\n\t@%p2 bra $L1;\n\t@!%p3 bra $L3;\n$L1:\n\tmov.b32 %r1, 2;\n\t@%p2 bra $L1;\n$L3:",
        'with ptx.if_(~p[1], label="$L3"):|if_(~p[2], label="$L1", define_label=False)|ptx.break_("$L3", pred=~p[3])',
    ),
    "a guarded and an unguarded branch": (
        "@%p1 bra $L1;\n\tbra.uni $L2;\n$L1:\n\tmov.b32 %r1, 1;\n\tbra.uni $L3;\n$L2:\n\tmov.b32 %r1, 2;\n$L3:",
        'with ptx.block("$L3"):|with ptx.block("$L2"):|ptx.break_("$L2", uniform=True)|ptx.break_("$L3", uniform=True)',
    ),
    "loop in a scope": ("{\n$L1:\n\t@%p1 bra $L1;\n\t}", 'with ptx.scope():|with ptx.loop("$L1", pred=p[1]):'),
    "branch out of a scope": ("{\n\t@%p1 bra $L1;\n\t}\n$L1:", 'with ptx.block("$L1"):|ptx.break_("$L1", pred=p[1])'),
    "into a loop": ("@%p1 bra $L2;\n$L1:\n\tmov.b32 %r1, 1;\n$L2:\n\t@%p2 bra $L1;", 'ptx.inst.bra("$L2", pred=p[1])'),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_branches(shape: str) -> None:
    before, lines = SHAPES[shape]
    done = transpile(module(before), RULES)
    for line in lines.split("|"):
        assert line in done.text
    assert not done.rejected


def test_the_end_of_a_switch_is_a_block_before_its_cases_are() -> None:
    ways = "\n\t".join(f"@%p1 bra $L{n};" for n in range(20))
    cases = "\n".join(f"\tbra.uni $L99;\n$L{n}:\n\tmov.b32 %r1, {n};" for n in range(20))
    source = module(f"{ways}\n{cases}\n$L99:")
    done = transpile(source, RULES)
    assert done.text.count('ptx.break_("$L99", uniform=True)') == 20
    assert 5 < done.text.count("ptx.inst.bra(") < 10
    assert not done.rejected


def test_forty_ifs_in_one_another_are_no_fault() -> None:
    opening = "".join(f"\t@%p1 bra $L{n};\n\tmov.b32 %r1, {n};\n" for n in range(40))
    closing = "".join(f"$L{n}:\n" for n in reversed(range(40)))
    done = transpile(module(opening + closing), RULES)
    assert not done.rejected
    assert 10 < done.applied["if"] < 20


def test_long_tables_are_columns_of_runs() -> None:
    registers = [8, *range(20, 52), 3, 5]
    body = "\n\t".join(f"mov.b32 %r{at}, %r{1 if at > 9 else 2};" for at in registers)
    source = module(body).replace("%r<9>", "%r<60>")
    done = transpile(source, RULES)
    assert "    for t, u in zip((8, *range(20, 52), 3, 5), (2, *[1] * 32, 2, 2), strict=True):\n" in done.text
    assert not done.rejected
    assert done.applied["repeat"] == 1


@pytest.mark.parametrize(
    ("column", "runs"),
    [
        ((7,), ["7"]),
        ((1, 2, 3), ["1", "2", "3"]),
        ((1, 2, 3, 4, 9), ["*range(1, 5)", "9"]),
        ((8, 6, 4, 2, 2), ["*range(8, 0, -2)", "2"]),
        ((5, 5, 5, 5, 1), ["*[5] * 4", "1"]),
        ((6, 6, 3, 3) * 5 + (6, 6), ["*[6, 6, 3, 3] * 5", "6", "6"]),
    ],
)
def test_runs_of_numbers_are_short(column: tuple[int, ...], runs: list[str]) -> None:
    assert runs_of(column) == runs
    assert eval(f"({', '.join(runs)},)") == column  # noqa: S307  the printed text


@pytest.mark.parametrize("start", ["$L__BB0_2", "$L__BB0_1"], ids=["in its middle", "at its head"])
def test_a_loop_that_is_entered_by_a_branch_says_where_it_starts(start: str) -> None:
    source = module(
        f"bra.uni {start};\n$L__BB0_1:\n\tadd.s32 %r1, %r1, 1;\n$L__BB0_2:\n\tsetp.lt.s32 %p1, %r1, 8;\n"
        "\t@%p1 bra $L__BB0_1;"
    )
    done = transpile(source, RULES)
    assert f'start_label="{start}"' in done.text
    assert "ptx.inst.bra" not in done.text
    assert rebuilt(done.text) == source


def test_what_goes_around_a_loop_leaves_a_block_around_it() -> None:
    source = module(
        "@%p2 bra $L__BB0_3;\n\tmov.b32 %r1, 0;\n$L__BB0_1:\n\tadd.s32 %r1, %r1, 1;\n\t@%p3 bra $L__BB0_3;\n"
        "\tsetp.lt.s32 %p1, %r1, 8;\n\t@%p1 bra $L__BB0_1;\n$L__BB0_3:"
    )
    done = transpile(source, RULES)
    assert "ptx.inst.bra" not in done.text
    assert rebuilt(done.text) == source


def test_long_forms_have_names_that_tell_them_apart() -> None:
    other = FORM.before.replace(".row.col.f64.f64.f64.f64", ".row.row.f32.f16.f16.f32").replace("%fd", "%f")
    source = module(f"{FORM.before}\n\t{other};\n\tmembar.gl").replace(
        "\t.reg .b64", "\t.reg .f64 %fd<5>;\n\t.reg .b64"
    )
    source = source.replace("\t.reg .b64", "\t.reg .f32 %f<5>;\n\t.reg .b64").replace(";;", ";")
    done = transpile(source, RULES, unchecked=True)
    assert FORM.after in done.text
    assert "mma_m8n8k4_f32 = ptx.inst.mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32" in done.text
    assert done.text.count("mma_m8n8k4_f64(") + done.text.count("mma_m8n8k4_f32(") >= 2
    assert "ptx.inst.membar" in done.text
    assert rebuilt(done.text) == source
    assert "mma_m8n8k4_f64" not in transpile(source, (), unchecked=True).text


def test_the_only_kernel_may_be_called_k() -> None:
    text = transpile(module("membar.gl;"), RULES).text
    assert "def k() -> None:" in text
    assert "\nk = " not in text
    taken = transpile(module("membar.gl;").replace("%r<9>", "%k<9>"), RULES).text
    assert "def k() -> None:" in taken
    assert 'k_2 = reg.bank("%k", b32, 9)' in taken


def test_the_name_of_a_form_is_nobody_elses() -> None:
    source = module(FORM.before).replace(
        "\t.reg .b64", "\t.reg .f64 %fd<5>;\n\t.reg .b32 %mma_m8n8k4_f64;\n\t.reg .b64"
    )
    source = source.replace("entry k()", "entry mma_m8n8k4_f64_2()")
    source = source.replace(".visible", ".shared .b32 mma_m8n8k4_f64_3;\n.visible", 1)
    source = source.replace("mma.sync", "mov.b32 %r1, mma_m8n8k4_f64_3;\n\tmma.sync", 1)
    done = transpile(source, RULES, unchecked=True)
    assert "mma_m8n8k4_f64_4 = ptx.inst.mma.sync" in done.text
    assert not done.rejected
    assert rebuilt(done.text) == source
