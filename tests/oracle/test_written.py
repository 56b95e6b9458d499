"""Instructions that examples and wrappers emit are legal on exactly the targets that the table allows.

By default each form is checked on every twelfth target, in rotation; with `PYPTX_ORACLE=all`, on all targets.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.isa.rows import row
from pyptx_ir.toolchain.finder import find_tool

from .cases import Case
from .plan import targets_of
from .ptxas import Assembler
from .report import Report
from .written import GALLERY, forms_in, loaded, written_by_wrappers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.no_cover, pytest.mark.ptxas]

WRITTEN = row("written", manual="examples and wrappers")
SHARE = 1 if os.environ.get("PYPTX_ORACLE") == "all" else 12  # one of this many targets is tested
SIZES = {"B": 64, "N": 4096, "M": 4096, "F": 4096}


def written_by_examples() -> list[str]:
    texts: list[str] = []
    for example in loaded(GALLERY).EXAMPLE_LIST:
        kernel = example.launch()
        names = {name for spec in (*kernel.in_specs, *kernel.out_specs) for name in spec.symbolic_dims}
        texts.append(kernel.ptx(**{name: SIZES[name] for name in names}))
    return texts


@pytest.mark.long
def test_ptxas_accepts_what_we_write_on_exactly_the_targets_that_the_table_allows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))
    texts = written_by_examples() + written_by_wrappers(monkeypatch)
    forms = list(dict.fromkeys(form for text in texts for form in forms_in(text)))
    assert len(forms) > 1000, len(forms)
    ptxas, report = find_tool("ptxas"), Report()
    for turn, target in enumerate(targets_of(ptxas.newest_ptx)):
        assembler = Assembler(ptxas, target.name, ptxas.newest_ptx)
        report.ask(
            assembler,
            {WRITTEN.name: "written"},
            [Case(form, WRITTEN, "written") for form in forms[turn % SHARE :: SHARE]],
        )
    (cell,) = report.cells.values()
    assert cell.accepted > 10_000 / SHARE
    assert cell.refused > 1_000 / SHARE
    assert [str(difference) for difference in cell.unexplained] == []
