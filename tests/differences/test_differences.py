"""Property of `pyptx diff` over the corpus: it reports "same" only for renamed and reformatted modules.

By default a share of the corpus modules is compared, with `PYPTX_KERNELS=all` all of them.
"""

from __future__ import annotations

import random
import re
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from tests.corpus_modules import CORPUS, FOLDERS, refused
from tools.shares import FULL, at_most, full, share

from pyptx_diff import compare
from pyptx_ir.syntax import Source, decode, emit, parse, positions
from pyptx_ir.syntax import nodes as n
from pyptx_ir.toolchain import ToolchainError, assemble, disassemble

from .canonical import canonical
from .mutations import CHANGES, Mutant, mutant
from .rewriting import rewriting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyptx_diff import Comparison

pytestmark = pytest.mark.scaled(2)

MOST = 1  # tested modules of each compiler of the corpus, by default
LARGEST = full(400_000, default=40_000)  # size limit of a tested module, in bytes
MUTANTS = full(12, default=6)  # number of mutants made of each module
DRAWS = 5 * MUTANTS


def some(folder: str, turn: int) -> Iterator[tuple[Path, str]]:
    """Yield path and text of the tested modules of a corpus folder; each `turn` (a number) selects other modules."""
    paths = [path for path in sorted((CORPUS / folder).glob("*.ptx")) if path.stat().st_size <= LARGEST]
    for path in at_most(paths, MOST, turn):
        yield path, decode(path.read_bytes())


def mutants(module: n.Module, chance: random.Random) -> Iterator[Mutant]:
    drawn = (mutant(module, chance) for _ in range(DRAWS))
    return islice(filter(None, drawn), MUTANTS)


def line(module: n.Module, node: n.Statement) -> int:
    """Return the source line number of a statement, which is found in the module by object identity."""
    source = Source(emit(module))
    return next(source.line_column(span.start)[0] for each, span in positions(module) if each is node)


def touched(found: Comparison) -> tuple[set[int], set[int]]:
    """Return the numbers of the changed lines in the old and in the new module."""
    before = {change.before.line for change in found.changes() if change.before is not None}
    after = {change.after.line for change in found.changes() if change.after is not None}
    return before, after


def names_the_place(found: Comparison, module: n.Module, one: Mutant) -> bool:
    """Return whether `pyptx diff` reports a mutant's line; after a move, any line between the positions counts."""
    before, after = touched(found)
    start, end = line(module, one.before), 0 if one.after is None else line(one.module, one.after)
    if one.kind == "moved":
        low, high = sorted((start, end))
        return any(low - 1 <= at <= high + 1 for at in before | after)
    return start in before or end in after


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_module_is_itself(folder: str) -> None:
    for path, text in some(folder, 0):
        for debug in (False, True):
            found = compare(text, text, debug=debug)
            assert found.same, path
            assert not found.renamings, path


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_renamed_respelt_and_laid_out_anew_is_the_same(folder: str) -> None:
    for path, text in some(folder, 1):
        other = rewriting(text, random.Random(path.name))
        assert compare(text, other).same, path
        assert compare(other, text).same, path


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_mutant_is_found_where_it_was_changed(folder: str) -> None:
    for path, text in some(folder, 2):
        module = parse(text)
        for one in mutants(module, random.Random(path.name)):
            found = compare(module, one.module)
            assert found.same == (canonical(module) == canonical(one.module)), (path, one.kind, one.before)
            assert found.same or names_the_place(found, module, one), (path, one.kind, one.before)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_renaming_hides_a_mutant(folder: str) -> None:
    for path, text in some(folder, 3):
        module, chance = parse(text), random.Random(path.name)
        for one in islice(mutants(module, chance), 3):
            other = rewriting(emit(one.module), chance)
            assert compare(module, other).same == (canonical(module) == canonical(one.module)), (path, one.kind)
            assert compare(one.module, other).same, (path, one.kind)


@pytest.mark.long
def test_the_corpus_has_mutants_of_every_kind_and_most_differ() -> None:
    kinds: dict[str, set[bool]] = {}
    for folder in FOLDERS:
        for path, text in islice(some(folder, 4), 6):
            module = parse(text)
            for one in mutants(module, random.Random(path.name)):
                kinds.setdefault(one.kind, set()).add(compare(module, one.module).same)
    assert kinds.keys() == CHANGES.keys()
    assert all(False in answers for answers in kinds.values())


def code(text: str) -> list[str]:
    """Return the instructions that ptxas generates for a module, without names of labels and registers."""
    target = next(node.names[0] for node in parse(text).body if isinstance(node, n.Target))
    sass = disassemble(assemble(text, target).cubin)
    rows = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*);", sass)
    return sorted(re.sub(r"`\([^)]*\)|\b(U?[RPB])\d+(?:\.reuse)?", r"\1", row) for row in rows)


@pytest.mark.ptxas
@pytest.mark.parametrize("folder", share(FOLDERS, 2))
@pytest.mark.long
def test_ptxas_makes_the_same_code_of_what_is_the_same(folder: str) -> None:
    made = 0
    for path, text in some(folder, 5):
        # At -O0, register allocation and the moves between registers depend on register names.
        if refused(path) or len(text) > 30_000 or ".debug." in path.name:
            continue
        try:
            expected = code(text)
        except ToolchainError:  # the module needs a linker or a newer ptxas
            continue
        # The order in which ptxas compiles functions, and so their register allocation, depends on their names.
        other = rewriting(text, random.Random(path.name), inside=True)
        assert compare(text, other).same, path
        assert code(other) == expected, path
        made += 1
        if made == 3 and not FULL:
            break
