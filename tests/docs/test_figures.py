"""Each measured figure links to its run (a page of docs/results that shows a file of benchmarks/results) or its source.

The link is in the same paragraph or table, in the paragraph before a table, or in the first paragraph of the section.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .pages import INCLUDED, PAGES, ROOT, name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RESULTS = ROOT / "docs" / "results"
RUNS = (RESULTS, ROOT / "benchmarks" / "results")
CHECKED = [page for page in PAGES if page.parent in (ROOT / "docs", ROOT / "docs" / "internals", ROOT)]
CHECKED += ROOT.glob("packages/*/README.md")
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
FIGURE = re.compile(
    r"""µs | \b[TGM]B/s | \bTFLOP                                       # a unit that only measurements have
    | (?<![\w.])\d[\d.,]*\s?(?:ns|us|ms|s|[MG]B)\b                      # seconds, megabytes
    | \b(?:\d[\d.,]*|two|three|four|five|ten|hundred)\s(?:micro|milli)?seconds\b
    | \b(?:\d[\d.]*|two|three|four|five|ten|hundred)\stimes\s(?:as\s(?:fast|long)|faster|slower|longer)\b
    | %\sof\s(?:cuBLAS|cuDNN|torch) | \d\s×\s(?:cuBLAS|cuDNN|torch)""",
    re.VERBOSE,
)


def figures(page: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each paragraph or table with a measured figure, and the targets of the links to its run or source."""
    text = re.sub(r"(?ms)^ *```.*?^ *```$|`[^`\n]*`", "", page)
    for section in re.split(r"(?m)^#+ .*$", text):
        blocks = [block for block in re.split(r"\n\s*\n", section) if block.strip()]
        for number, block in enumerate(blocks):
            before = blocks[number - 1] if number and block.lstrip().startswith("|") else ""
            if FIGURE.search(block):
                yield block, LINK.findall(f"{block}\n{before}\n{blocks[0]}")


def unbacked(page: Path) -> list[str]:
    """Return the first characters of paragraphs and tables whose figures link to no run and no source."""
    text = page.read_text(encoding="utf-8")
    return [
        block.strip()[:80]
        for block, links in figures(text)
        if not any(link.startswith("https:") or (page.parent / link).parent.resolve() in RUNS for link in links)
    ]


@pytest.mark.parametrize("page", CHECKED, ids=[name(page) for page in CHECKED])
def test_every_figure_links_to_its_run(page: Path) -> None:
    assert not unbacked(page)


def test_a_figure_without_a_run_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\nIt takes 3 ms.\n\n| µs |\n|---|\n| 4 |\n\n`5 s` in code, of 32 KiB.\n", encoding="utf-8")
    assert unbacked(page) == ["It takes 3 ms.", "| µs |\n|---|\n| 4 |"]


@pytest.mark.parametrize("page", sorted(RESULTS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_results_shows_its_file(page: Path) -> None:
    (included,) = INCLUDED.findall(page.read_text(encoding="utf-8"))
    assert included == f"benchmarks/results/{page.name}"
    assert (ROOT / included).is_file()
    assert f"(results/{page.name})" in (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")


def test_the_simulators_table_has_the_rows_of_its_runs() -> None:
    page = (ROOT / "docs" / "simulator-performance.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `") and " s |" in line]
    runs = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("benchmarks/results/2026-11-27-*-cpu.md"))
    assert len(rows) > 40
    assert [row for row in rows if row not in runs.splitlines()] == []
