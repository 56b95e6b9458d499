"""Blackwell's transpiler rules: an example of each rule, and code that the rules do not rewrite."""

from __future__ import annotations

import textwrap

import pytest

from pyptx_arch_blackwell.plugin import pyptx_sugar_rules
from pyptx_ir.plugins.manager import manager
from pyptx_transpile import transpile
from pyptx_transpile.rules.table import RULES

OURS = tuple(pyptx_sugar_rules())
ALL = tuple(rule for rule in manager().sugar_rules() if rule in {*OURS, *RULES})
HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<4>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<20>;"
BODY = f"\n.visible .entry k()\n{{{{\n\t{REGISTERS}\n\n\t{{}}\n\tret;\n}}}}\n"
PRODUCT = "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, %p1;"


def module(body: str) -> str:
    return HEAD + BODY.format(body)


@pytest.mark.parametrize("rule", OURS, ids=lambda rule: rule.name)
def test_the_example_is_what_the_rule_does(rule: object) -> None:
    (one,) = [each for each in OURS if each is rule]
    done = transpile(module(one.before), ALL)
    assert done.applied[one.name] == 1, done.text
    assert textwrap.indent(one.after, "    ") in done.text
    assert not done.rejected


def test_a_number_that_no_product_takes_or_that_says_nothing_stays_a_number() -> None:
    for body in ("mov.b32 %r5, 136314896;\n\t" + PRODUCT, "mov.b32 %r4, 64;\n\t" + PRODUCT):
        done = transpile(module(body), ALL)
        assert not done.applied.get("product"), done.text


def test_products_of_several_kinds_have_names_of_their_own() -> None:
    other = PRODUCT.replace("kind::f16", "kind::i8").replace("%r4", "%r5")
    done = transpile(module(f"mov.b32 %r4, 136314896;\n\tmov.b32 %r5, 136314912;\n\t{PRODUCT}\n\t{other}"), ALL)
    assert done.applied["product"] == 2
    assert 'instruction_descriptor_2 = ptx.tcgen05.InstructionDescriptor("i8", d="s32", a="u8", b="u8"' in done.text


def test_a_sum_that_is_no_descriptor_is_left_alone() -> None:
    sums = "shr.u32 %r4, %r1, 4;\n\tcvt.u64.u32 %rd1, %r4;\n\tor.b64 %rd2, %rd1, {};"
    for body in (sums.format("4096") + "\n\t" + PRODUCT, sums.format("4611756662049538048")):
        assert not transpile(module(body), ALL).applied.get("matrix descriptor")


def test_what_has_a_name_as_a_form_keeps_it() -> None:
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r{}];"
    done = transpile(module("\n\t".join(commit.format(number) for number in (1, 2, 3, 4))), ALL)
    assert "ptx.tcgen05.commit" not in done.text
    assert done.text.count("tcgen05_commit") >= 5 or "for i in" in done.text
