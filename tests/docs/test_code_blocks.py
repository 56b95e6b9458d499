"""Every Python block of the documentation runs, prints what its page shows, and draws the page's pictures."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from .markdown import blocks, run, updated
from .pages import PAGES, PICTURES, ROOT, activates, name, not_run

if TYPE_CHECKING:
    from pathlib import Path


def needs(page: Path) -> list[pytest.MarkDecorator]:
    """Return the pytest marks for the packages that a page's code requires."""
    code = "".join(block.text for block in blocks(page.read_text(encoding="utf-8")) if block.language == "python")
    # torch's Inductor itself calls functions that torch deprecates: ignore these warnings.
    torch = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")]
    marks = torch if "import torch" in code else []
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


@pytest.mark.no_cover
@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")  # disables the warning for kernel calls on the CPU
    if activates(page):
        command = [sys.executable, "-m", "tests.docs", "--check", str(page)]
        checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        return
    monkeypatch.chdir(tmp_path)
    outcome = run(page, not_run(page))
    total = sum(block.language == "python" for block in blocks(page.read_text(encoding="utf-8")))
    assert outcome.count == total - len(not_run(page))
    for block, printed in outcome.stale():
        assert block.text == printed, f"{page.name}:{block.line}: stale: run `python -m tests.docs`"
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_bytes() == (PICTURES / picture.name).read_bytes(), "stale: run `python -m tests.docs`"


def test_every_picture_is_drawn_by_the_page_that_shows_it() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    for picture in PICTURES.iterdir():
        assert any(f'"{picture.name}"' in text and f"(pictures/{picture.name})" in text for text in texts), picture.name


def test_the_runner_compares_what_is_printed_and_can_write_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\nprints:\n\n```text\n2\n```\n"
    page.write_text(text, encoding="utf-8")
    outcome = run(page)
    assert outcome.count == 2
    assert [(block.line, printed) for block, printed in outcome.stale()] == [(12, "1\n")]
    page.write_text(updated(text, outcome), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text.replace("2\n", "1\n")
    assert not run(page).stale()


def test_a_page_continues_the_code_of_the_pages_before_it(tmp_path: Path) -> None:
    names = ("one.md", "two.md", "three.md")
    for number, page in enumerate(names):
        comment = f"<!-- continues {names[number - 1]} -->\n\n" if number else "```python\nx = []\n```\n\n"
        code = f"```python\nx.append({number})\nprint(x)\n```\n\nprints:\n\n```text\n{list(range(number + 1))}\n```\n"
        (tmp_path / page).write_text(comment + code, encoding="utf-8")
    outcome = run(tmp_path / "three.md")
    assert outcome.count == 1
    assert not outcome.stale()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_of_a_page_names_its_language_and_ends(page: Path) -> None:
    blocks(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", ["```\nx\n```\n", "```python\nx = 1\n```\n```\n", "```python\nx = 1\n"])
def test_a_fence_that_has_no_other_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        blocks(text)


def test_the_runner_points_into_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```python\nvalue = 1 / 0\n```\n", encoding="utf-8")
    with pytest.raises(ZeroDivisionError) as raised:
        run(page)
    assert raised.traceback[-1].lineno + 1 == 4
    assert str(raised.traceback[-1].path) == page.name


def test_pages_name_only_modules_that_exist() -> None:
    api = [(page, line) for page in sorted(ROOT.glob("docs/api/*.md")) for line in page.read_text().splitlines()]
    named = [line.removeprefix("::: ").strip() for _, line in api if line.startswith("::: ")]
    assert named
    sources = [path for path in ROOT.glob("packages/*/src") if path.is_dir()]
    for module in named:
        path = module.replace(".", "/")
        assert any((source / f"{path}.py").is_file() or (source / path / "__init__.py").is_file() for source in sources)
