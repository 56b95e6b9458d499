"""Every module of the corpus round-trips byte-identically, without sugar rules and with all of them.

By default a share of the compilers' modules is tested, with `PYPTX_KERNELS=all` all; handmade ones always are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.shares import at_most, full

from pyptx.codegen import Transpiled, transpile
from pyptx.emitter import emit
from pyptx.parser import parse
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode, encode
from pyptx_ir.syntax.style import infer_style, stripped
from pyptx_transpile.planning.plan import planned
from pyptx_transpile.reading.rows import Row
from pyptx_transpile.rules.loops import latches
from pyptx_transpile.rules.table import RULES

from .corpus_modules import BY_HAND, CORPUS, FOLDERS, refused
from .test_codegen import module_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.scaled(2)

MOST, PLANNED = 2, 8  # modules of each compiler of the corpus, by default: to transpile, and to plan rewrites for
NEAR = 6  # maximum statements between an mbarrier poll and the branch of the polling loop


def some(folder: str, turn: int) -> list[Path]:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    return paths if folder == BY_HAND else at_most(paths, MOST, turn)


def planned_modules() -> list[Path]:
    return [path for folder in FOLDERS for path in at_most(sorted((CORPUS / folder).glob("*.ptx")), PLANNED)]


def transpiled(path: Path, *, sugar: bool) -> Transpiled:
    rules = manager().sugar_rules() if sugar else ()
    return transpile(decode(path.read_bytes()), rules, name=path.name, unchecked=refused(path))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_is_emitted_as_it_was_parsed(folder: str) -> None:
    for path in at_most(sorted((CORPUS / folder).glob("*.ptx")), MOST, 2):
        source = decode(path.read_bytes())
        assert emit(parse(source)) == source, path.name


@pytest.mark.parametrize("sugar", [False, True], ids=["plain", "sugar"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_comes_back_byte_for_byte(folder: str, sugar: bool) -> None:  # noqa: FBT001  a parameter
    for path in some(folder, sugar):
        done = transpiled(path, sugar=sugar)
        assert encode(module_of(done.text).ptx()) == path.read_bytes(), path.name
        assert not done.rejected, path.name
        assert done.text.isascii()
        assert "ptx.raw(" not in done.text


@pytest.mark.long
def test_rules_say_nearly_all_branches() -> None:
    """At most 5 % of all PTX branches stay branches in Python; at least 95 % of all loops become Python blocks."""
    branches = left = loops = raised = 0
    for path in planned_modules():
        for body in Row(parse(decode(path.read_bytes()))).bodies():
            plan = planned(body, RULES)
            branches += len(body.jumps)
            left += sum(plan.owner(jump.at) is None for jump in body.jumps)
            loops += len(latches(body))
            raised += sum(rewrite.loops for rewrite in plan.rewrites())
    assert branches > full(12_000, default=3_000)
    assert left <= 0.05 * branches
    assert raised >= 0.95 * loops


@pytest.mark.long
def test_every_spin_on_a_barrier_is_one_call() -> None:
    """A poll that no rule rewrites is not in a spin loop: no branch shortly after it jumps to shortly before it."""
    polls = claimed = 0
    for path in planned_modules():
        text = decode(path.read_bytes())
        if "_wait" not in text:
            continue
        tree = parse(text)
        for body in Row(stripped(tree, infer_style(tree))).bodies():
            plan = planned(body, RULES)
            for at in range(body.start, body.end):
                node = body.instruction(at)
                if node is None or node.opcode[:2] not in {("mbarrier", "try_wait"), ("mbarrier", "test_wait")}:
                    continue
                polls += 1
                if plan.owner(at) is not None:
                    claimed += 1
                    continue
                back = [jump for jump in body.jumps if at < jump.at < at + NEAR and at - NEAR < jump.target < at]
                assert not back, (path.name, node)
    assert polls > full(60, default=15)
    assert claimed > 0.9 * polls
