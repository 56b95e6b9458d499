"""Hopper's transpiler rules, with one wrong rewrite at a time: only the wrong one is rejected, and the PTX is right.

By default one module is tested for each rule, with `PYPTX_KERNELS=all` all of them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tools.shares import full

from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode, encode, parse
from pyptx_ir.syntax.style import infer_style, stripped
from pyptx_transpile.module_plan import ModulePlan
from pyptx_transpile.reading.rows import Row
from pyptx_transpile.transpiler import Transpiler

from .corpus_modules import CORPUS
from .test_codegen import module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile.planning.plan import Key, Rewrite, RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.module_printer import Printed
    from pyptx_transpile.proof.verification import Faults, Proof
    from pyptx_transpile.reading.rows import Body

pytestmark = pytest.mark.scaled

GEMM = "nvcc-13.0/hopper_gemm.sm_90a.ptx"
# Number of rewrites by rule and module. Rewrites in functions of the printed file have other positions and are not
# counted.
SITES = {
    ("ring", GEMM): 3,
    ("ring", "cutedsl-4.8/products.sm_90a.warpgroups.ptx"): 2,
    ("arrival", GEMM): 3,
    ("arrival", "nvrtc-12.9/hopper_gemm.sm_90a.ptx"): 2,
    ("advance", GEMM): 3,
    ("advance", "triton-3.9/matmul.sm_90a.persistent.ptx"): 2,
    ("advance", "pallas-0.10/blocks.sm_100a.product.ptx"): 3,
    ("descriptor", "triton-3.9/matmul.sm_90a.persistent.ptx"): 4,
    ("descriptor", "mosaic-0.10/warpgroups.sm_90a.roles.ptx"): 2,
    ("accumulator", GEMM): 1,
    ("accumulator", "tilelang-0.1/products.sm_90a.half.ptx"): 1,
}
TAKEN = full(list(SITES), default=list({name: (name, path) for name, path in SITES}.values()))
NUMBER = re.compile(r"\d+(?=\D*\Z)", re.ASCII)  # the last number in a printed Python line


def rules(key: Key) -> list[SugarRule]:
    """Return all transpiler rules; one of them prints wrong text for the rewrite `key`."""
    return [
        replace(rule, find=_wrong_at(rule, key)) if rule.name == key[0] else rule for rule in manager().sugar_rules()
    ]


def _wrong_at(rule: SugarRule, key: Key) -> Callable[[Body, RewritePlan], Iterator[Rewrite]]:
    def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
        for rewrite in rule.find(body, plan):
            is_it = rewrite.key == key and body.declared == body.start
            yield replace(rewrite, write=_spoiled(rewrite)) if is_it else rewrite

    return find


def _spoiled(rewrite: Rewrite) -> Callable[[BodyPrinter, tuple[Slot, ...]], None]:
    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        rewrite.write(printer, slots)
        lines = printer.page.lines
        lines[-1] = NUMBER.sub(lambda found: str(int(found[0]) + 1), lines[-1])

    return write


def sites(source: str, name: str) -> dict[Key, bool]:
    """Return a rule's rewrites in the functions of a module, each with whether a printed Python loop covers it."""
    tree = parse(source)
    plans = ModulePlan(Row(stripped(tree, infer_style(tree))), manager().sugar_rules()).plans.values()
    return {
        rewrite.key: any(each.repeats for each in plan.around(rewrite.start))
        for plan in plans
        for rewrite in plan.rewrites()
        if rewrite.rule == name
    }


@pytest.mark.parametrize(("name", "path"), TAKEN)
@pytest.mark.long
def test_a_wrong_rule_is_withdrawn_at_its_site_in_one_round(
    name: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = decode((CORPUS / path).read_bytes())
    rounds: list[Faults] = []
    proved = Transpiler.proved

    def counted(transpiler: Transpiler, proof: Proof, printed: Printed) -> Faults:
        rounds.append(proved(transpiler, proof, printed))
        return rounds[-1]

    monkeypatch.setattr(Transpiler, "proved", counted)
    found = sites(source, name)
    assert len(found) == SITES[name, path]
    for key, in_turn in found.items():
        rounds.clear()
        done = transpile(source, rules(key), name=path)
        assert [(one.rule, one.place) for one in done.rejected] == [(name, key[1])]
        # If a printed Python loop is faulty, the transpiler first prints it unrolled, to find the faulty iterations.
        assert [bool(each) for each in rounds] == [True, *[True] * in_turn, False]
        assert in_turn or done.applied[name] == len(found) - 1
        assert encode(module_of(done.text).ptx()) == encode(source)
