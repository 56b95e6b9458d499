"""Properties of styles inferred from the corpus: lossless, with few deviations; formatting changes whitespace only.

By default one corpus module in `ONE_OF` is tested, and all with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.shares import share

from pyptx_ir.syntax import decode, emit, parse
from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax.style import Style, deviations, formatted, infer_style, stripped
from pyptx_ir.syntax.style.items import items
from pyptx_ir.syntax.style.known import KNOWN
from pyptx_ir.toolchain import assemble

from .test_corpus_laws import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.scaled(2)

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
FOLDERS = sorted({path.parent.name for path in CORPUS.glob("*/*.ptx")})
BY_HAND = "handmade"
ONE_OF = 40  # one of this many corpus modules is tested by default
# Bound for each compiler: percentage of statements, braces and module ends that deviate from the module's style.
MOST = {
    "clang-14": 3.0,
    "clang-19": 5.0,
    "clang-22": 5.0,
    "llvm-22": 5.0,
    "mosaic-0.10": 3.0,
    "nvcc-13.0": 4.0,
    "nvcc-13.5": 5.0,
    "cutedsl-4.8": 3.0,
    "gluon-3.9": 5.0,
    "numba-0.30": 3.0,
    "pallas-0.10": 3.0,
    "tilelang-0.1": 3.0,
    "triton-3.9": 4.0,
    "warp-1.19": 3.0,
    "xla-0.10": 3.0,
    **{f"nvrtc-{version}": 3.0 for version in ("11.8", "12.4", "12.9", "13.5")},
}
LIKE = ("nvcc-13.0/half.sm_75.ptx", "clang-22/control.sm_100a.lines.ptx")


@cache
def text_of(name: str) -> str:
    return decode((CORPUS / name).read_bytes())


def some(folder: str, turn: int) -> Iterator[tuple[str, str]]:
    """Yield name and text of the modules that a property is tested on; each `turn` (a number) selects other modules."""
    names = sorted(path.name for path in (CORPUS / folder).glob("*.ptx"))
    for name in share(names, ONE_OF, turn):
        yield f"{folder}/{name}", text_of(f"{folder}/{name}")


@cache
def style_like(name: str) -> Style:
    return infer_style(parse(text_of(name)))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_learnt_style_and_what_deviates_give_every_byte_back(folder: str) -> None:
    for name, text in some(folder, 1):
        tree = parse(text)
        style = infer_style(tree)
        assert emit(stripped(tree, style), style) == text, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_so_does_any_other_style(folder: str) -> None:
    for name, text in some(folder, 2):
        tree = parse(text)
        for style in (Style(), KNOWN["nvcc"], *map(style_like, LIKE)):
            assert emit(stripped(tree, style), style) == text, name


@pytest.mark.parametrize("folder", MOST)
def test_few_statements_deviate(folder: str) -> None:
    deviating = all_of_them = 0
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    for path in share(paths, 1 + len(paths) // 20):
        name = f"{folder}/{path.name}"
        tree = parse(text_of(name))
        deviating += len(list(deviations(tree, infer_style(tree))))
        all_of_them += len(list(items(tree)))
    assert 100 * deviating < MOST[folder] * all_of_them, f"{deviating} of {all_of_them}"


def test_there_is_a_bound_for_every_compiler() -> None:
    assert MOST.keys() == set(FOLDERS) - {BY_HAND}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_style_is_canonical_spelling(folder: str) -> None:
    for name, text in some(folder, 3):
        tree = parse(text)
        naked = n.Module(tuple(map(bare, tree.body)), tree.tail)
        assert emit(naked, Style()) == emit(naked), name


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_style_is_a_small_literal(folder: str) -> None:
    for name, text in some(folder, 4):
        style = infer_style(parse(text))
        trivia, gaps, asm = map(ast.literal_eval, map(repr, (style.trivia, style.gaps, style.asm)))
        assert Style(trivia, gaps, asm) == style, name
        assert len(style.trivia) + sum(map(len, style.gaps.values())) < 120, name
        # `Style.asm` contains the inline assembly of a module, which may be most of the text.
        assert sum(map(len, style.asm)) < len(text) * 2 / 5 + 200, name


@pytest.mark.parametrize("style", [*KNOWN, *LIKE])
@pytest.mark.parametrize("folder", FOLDERS)
def test_formatting_changes_white_space_alone_and_once(folder: str, style: str) -> None:
    chosen = KNOWN.get(style) or style_like(style)
    for name, text in some(folder, 5 + len(style)):
        done = formatted(text, chosen, name)
        assert "".join(done.split()) == "".join(text.split()), name
        assert parse(done) == parse(text), name
        assert formatted(done, chosen, name) == done, name


@pytest.mark.ptxas
@pytest.mark.parametrize("style", KNOWN)
def test_ptxas_makes_the_same_code_of_a_formatted_text(style: str) -> None:
    for name in ("nvcc-13.0/functions.sm_90a.ptx", "nvcc-13.0/inline_ptx.sm_80.ptx", "clang-19/control.sm_89.ptx"):
        text = text_of(name)
        target = re.search(r"\.target (\w+)", text)
        assert target is not None
        done = formatted(text, KNOWN[style])
        assert assemble(done, target[1]).cubin == assemble(text, target[1]).cubin, name
