"""The documentation site's checker finds each glossary term that the linked page does not use; see `nox -s docs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tools.check_glossary import faults, rows, unfound

from .pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "| term | meaning | page |\n|---|---|---|\n"
INDEX = json.dumps(
    {
        "items": [
            {"location": "pipelines/", "title": "mbarriers and pipelines", "text": "<p>Each <em>phase</em> has</p>"},
            {"location": "pipelines/#counts", "title": "Counts", "text": "a <code>tx-count</code> of bytes"},
            {"location": "rules/deadlock/", "title": "<code>deadlock</code>", "text": "smem"},
        ]
    }
)


@pytest.mark.parametrize(
    ("row", "missing"),
    [
        ("| **mbarrier, phase** | … | [pipelines](pipelines.md) |", []),
        ("| **TX-count** | … | [pipelines](pipelines.md) |", []),
        ("| **tx-count** | … | [pipelines](pipelines.md#counts) |", []),
        ("| **deadlock** | … | [`deadlock`](rules/deadlock.md) |", []),
        ("| **phase** | … | [pipelines](pipelines.md#counts) |", ["phase"]),
        ("| **mbarrier, parity; count** | … | [pipelines](pipelines.md) |", ["parity"]),
        ("| **phase (`arrive`)** | … | [pipelines](pipelines.md) |", ["arrive"]),
        ("| **SM** | … | [`deadlock`](rules/deadlock.md) |", ["SM"]),
        ("| **phase** | … | [pipelines](gone.md) |", ["phase"]),
        ("| **phase** | … | pipelines |", ["phase"]),
    ],
)
def test_a_term_that_its_page_does_not_use_is_found(row: str, missing: list[str]) -> None:
    found = unfound(f"{HEAD}{row}\n", INDEX)
    assert [line.split(": ")[1] for line in found] == missing


def test_every_row_of_the_glossary_is_read(tmp_path: Path) -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = dict(rows(glossary))
    assert all(terms.values())
    assert {"CTA", "DSMEM", "warp specialization", "setmaxnreg", "mutant"} <= terms.keys()
    (tmp_path / "search.json").write_text('{"items": []}', encoding="utf-8")
    assert len(faults(ROOT / "docs", tmp_path)) == len(list(rows(glossary)))
