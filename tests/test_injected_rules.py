"""Transpiler rules with some wrong rewrites: only these rewrites are rejected, and the emitted PTX is right.

By default a share of the corpus is used, with `PYPTX_KERNELS=all` all of it: at least 300 wrong rewrites.
"""

from __future__ import annotations

import ast
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tools.shares import full, share

from pyptx.codegen import transpile
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode, encode, parse
from pyptx_ir.syntax.style import infer_style, stripped
from pyptx_transpile.module_plan import ModulePlan
from pyptx_transpile.reading.rows import Row

from .corpus_modules import BY_HAND, CORPUS, refused
from .test_codegen import module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile.planning.plan import Plan, Rewrite, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.page import Page
    from pyptx_transpile.reading.rows import Body

pytestmark = pytest.mark.scaled

ONE_OF = 40  # one of this many corpus modules is tested by default
LEAST = full(300, default=15)
SITES = 3  # maximum injected wrong rewrites per module, one per function: rewrites of one function interact
MANY = 6  # maximum injected wrong rewrites in one function
NUMBER = re.compile(r"(?<=[\[(, ])\d+(?=[\]),])", re.ASCII)
CALL = re.compile(r"(?:ptx\.inst\.|[a-z]\w*\()", re.ASCII)  # call of an instruction, or of a printed Python function
Key = tuple[str, int, int]


class Mutant:
    """The transpiler's rules, wrong for some rewrites; `injected` are the rewrites for which wrong text was printed."""

    def __init__(self, sites: frozenset[Key], chance: random.Random) -> None:
        self.injected: set[Key] = set()
        self._sites, self._chance = sites, chance

    def rules(self) -> list[SugarRule]:
        return [replace(rule, find=self._found(rule)) for rule in manager().sugar_rules()]

    def _found(self, rule: SugarRule) -> Callable[[Body, Plan], Iterator[Rewrite]]:
        def find(body: Body, plan: Plan) -> Iterator[Rewrite]:
            for rewrite in rule.find(body, plan):
                yield self._wrong(rewrite) if rewrite.key in self._sites else rewrite

        return find

    def _wrong(self, rewrite: Rewrite) -> Rewrite:
        def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
            first = len(printer.page.lines)
            rewrite.write(printer, slots)
            if self._spoil(printer.page, first):
                self.injected.add(rewrite.key)

        return replace(rewrite, write=write)

    def _spoil(self, page: Page, first: int) -> bool:
        """Change one of the lines that a rewrite has printed itself; return whether such a line exists."""
        own = [at for at in range(first, len(page.lines)) if page.owners[at] is page.owner]
        self._chance.shuffle(own)
        for at in own:
            line = page.lines[at]
            ways = [self._renumbered, self._negated, self._doubled]
            self._chance.shuffle(ways)
            for way in ways:
                changed = way(line)
                if changed != line:
                    page.lines[at] = changed
                    return True
        return False

    def _renumbered(self, line: str) -> str:
        found = list(NUMBER.finditer(line)) if line.endswith(")") and '"' not in line else []
        if not found:
            return line
        one = self._chance.choice(found)
        return f"{line[: one.start()]}{int(one[0]) + 1}{line[one.end() :]}"

    @staticmethod
    def _negated(line: str) -> str:
        return line.replace("pred=p", "pred=~p", 1) if "pred=p" in line else line.replace("(~p", "(p", 1)

    @staticmethod
    def _doubled(line: str) -> str:
        """Repeat a printed statement if it emits PTX."""
        text = line.strip()
        if not CALL.match(text) or not text.endswith(")"):
            return line
        try:
            ast.parse(text)
        except SyntaxError:
            return line
        return f"{line}; {text}"


def rewrites(path: Path) -> list[list[Key]]:
    """Return the keys of the transpiler's rewrites by function of a module; functions without one are omitted."""
    tree = parse(decode(path.read_bytes()))
    row = Row(stripped(tree, infer_style(tree)))
    rules = manager().sugar_rules()
    keys = [[rewrite.key for rewrite in plan.rewrites()] for plan in ModulePlan(row, rules).plans.values()]
    return [each for each in keys if each]


def sites(path: Path, chance: random.Random) -> frozenset[Key]:
    """Return the keys of one transpiler rewrite in each of up to `SITES` functions of a module."""
    keys = rewrites(path)
    return frozenset(map(chance.choice, chance.sample(keys, min(SITES, len(keys)))))


@pytest.mark.long
def test_wrong_rewrites_are_rejected_at_their_sites_and_no_others() -> None:
    injected = 0
    for path in share(sorted(CORPUS.glob("*/*.ptx")), ONE_OF):
        if path.parent.name == BY_HAND:
            continue
        chance = random.Random(path.name)
        mutant = Mutant(sites(path, chance), chance)
        done = transpile(decode(path.read_bytes()), mutant.rules(), name=path.name, unchecked=refused(path))
        wrong = {(rule, start) for rule, start, _ in mutant.injected}
        rejected = {(one.rule, one.place) for one in done.rejected}
        # If a wrong call is rejected, its function may have too few calls: then the transpiler drops all its
        # calls, wrong or right.
        dropped = {(one.rule, one.place) for one in done.dropped}
        assert rejected <= wrong <= rejected | dropped, (path.name, done.rejected, wrong - rejected)
        assert not dropped or "function" in {rule for rule, _ in rejected}, path.name
        assert encode(module_of(done.text).ptx()) == path.read_bytes(), path.name
        injected += len(mutant.injected)
    assert injected >= LEAST


@pytest.mark.long
def test_several_wrong_rewrites_of_one_function_are_all_rejected() -> None:
    """Nested or adjacent wrong rewrites may cause rejection of right ones, too; all accepted rewrites are right."""
    injected = 0
    for path in share(sorted(CORPUS.glob("*/*.ptx")), ONE_OF, 1):
        found = [] if path.parent.name == BY_HAND else rewrites(path)
        most = max(map(len, found), default=0)
        if most < MANY:
            continue
        chance = random.Random(path.name)
        mutant = Mutant(frozenset(chance.sample(next(keys for keys in found if len(keys) == most), MANY)), chance)
        done = transpile(decode(path.read_bytes()), mutant.rules(), name=path.name, unchecked=refused(path))
        assert encode(module_of(done.text).ptx()) == path.read_bytes(), path.name
        if len(mutant.injected) > 1:
            assert done.rejected, path.name
            injected += len(mutant.injected)
    assert injected >= LEAST
