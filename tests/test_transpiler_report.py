"""The page on readability of transpiled Python is up to date and stays within the limits of this file.

By default the modules of some compilers are measured, with `PYPTX_KERNELS=all` all of them.
"""

from __future__ import annotations

import pytest
from tools.shares import full
from tools.transpiler_report import HEAD, INTRODUCTION, PAGE, ROOT, measured, producers

pytestmark = pytest.mark.scaled

SOME = ("cutedsl-4.8", "llvm-22", "nvrtc-12.4")
# Maximum lines of Python per PTX instruction, formatting included, in functions of more than 200 instructions.
COMPACT = (
    *("nvcc-13.0", "nvcc-13.5", "nvrtc-11.8", "nvrtc-12.4", "nvrtc-13.5"),
    *("cutedsl-4.8", "mosaic-0.10", "pallas-0.10", "tilelang-0.1", "triton-3.9", "warp-1.19", "xla-0.10"),
)
MOST_IN_LARGE = dict.fromkeys(COMPACT, 0.65)
MOST = 0.80  # maximum lines of Python per PTX instruction in all functions
# Maxima for every compiler: lines of formatting per instruction, percentages of `text=` arguments and of raw `bra`.
MOST_OF_ALL = {"of formatting": 0.05, "`text=` %": 0.10, "raw `bra` %": 5.0}
LEAST_RAISED = 95.0


def rows() -> dict[str, tuple[str, ...]]:
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines if line.startswith("| ")]
    return {name: tuple(columns) for name, *columns in cells[2:]}


def column(producer: str, name: str) -> float:
    return float(rows()[producer][HEAD.index(name) - 1])


def test_the_page_has_a_row_for_every_producer() -> None:
    assert (ROOT / PAGE).read_text(encoding="utf-8").startswith(INTRODUCTION)
    assert rows().keys() == {*producers(), "all"}


@pytest.mark.parametrize("producer", full(producers(), default=SOME))
@pytest.mark.long
def test_a_row_is_what_is_printed_now(producer: str) -> None:
    assert rows()[producer] == measured(producer).columns()


def test_it_reads_as_well_as_was_reached() -> None:
    for producer, most in MOST_IN_LARGE.items():
        assert column(producer, "lines in functions above 200") <= most, producer
    assert column("all", "lines") + column("all", "of formatting") <= MOST


def test_of_every_compiler_little_stays_as_it_was() -> None:
    for producer in producers():
        for name, most in MOST_OF_ALL.items():
            assert column(producer, name) <= most, (producer, name)
        assert column(producer, "loops raised %") >= LEAST_RAISED, producer
