"""Every Python block of the documentation runs, and prints what the page says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .markdown import blocks, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")])

# Blocks that are not run, by page and first line, each with its reason.
NOT_RUN: dict[tuple[str, str], str] = {}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def needs(page: Path) -> list[pytest.MarkDecorator]:
    """Return the marks that a page's code asks for."""
    code = "".join(block.text for block in blocks(page.read_text(encoding="utf-8")) if block.language == "python")
    marks = [pytest.mark.torch] if "import torch" in code else []
    marks += [pytest.mark.jax] if "import jax" in code else []
    marks += (
        [pytest.mark.ptxas] if any(word in code for word in (".cubin(", ".sass(", ".resources(", "assemble(")) else []
    )
    return marks


WITH_CODE = [
    pytest.param(page, id=name(page), marks=needs(page))
    for page in PAGES
    if "```python" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYPTX_CPU", "quiet")  # a page may call a kernel on the CPU without being warned of it
    not_run = frozenset(first for where, first in NOT_RUN if where == name(page))
    total = sum(block.language == "python" for block in blocks(page.read_text(encoding="utf-8")))
    assert run(page, not_run) == total - len(not_run)


def test_the_runner_compares_what_is_printed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\nprints:\n\n```text\n2\n```\n"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:12: this is not what is printed"):
        run(page)
    page.write_text(text.replace("2\n", "1\n"), encoding="utf-8")
    assert run(page) == 2


def test_the_runner_points_into_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```python\nvalue = 1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(ZeroDivisionError) as raised:
        run(page)
    assert raised.traceback[-1].lineno + 1 == 4
    assert Path(str(raised.traceback[-1].path)) == page


def test_pages_name_only_modules_that_exist() -> None:
    api = [(page, line) for page in sorted(ROOT.glob("docs/api/*.md")) for line in page.read_text().splitlines()]
    named = [line.removeprefix("::: ").strip() for _, line in api if line.startswith("::: ")]
    assert named
    for module in named:
        __import__(module)
        assert module in sys.modules
