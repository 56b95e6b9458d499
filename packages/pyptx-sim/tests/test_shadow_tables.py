"""The checker's tables of last accesses, compared with dictionaries, while shadow granules are split repeatedly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_sim.events import COLUMNS, NOBODY, TIME, WARP
from pyptx_sim.shadow import overflow, tables
from pyptx_sim.shadow.overflow import Overflow
from pyptx_sim.shadow.sparse import zeros
from pyptx_sim.shadow.summaries import SEVERAL, Summary, by_last_write
from pyptx_sim.shadow.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRANULES = 64


def rows(rng: np.random.Generator, count: int) -> NDArray[np.int32]:
    return rng.integers(1, 1 << 20, (count, COLUMNS)).astype(np.int32)


@pytest.mark.parametrize("at_once", [0, 40, 1 << 16])
@pytest.mark.parametrize("seed", range(8))
def test_a_split_granule_keeps_its_row_until_somebody_touches_it(
    seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_SPLIT_AT_ONCE", at_once)
    rng = np.random.default_rng(seed)
    table, granules = Table(GRANULES), GRANULES
    known: dict[int, list[int]] = {}
    for factor in (2, 1, 4, 2):
        for _ in range(3):
            at = rng.choice(granules, rng.integers(1, 12), replace=False)
            entries = rows(rng, len(at))
            table.put(at, entries)
            known |= zip(at.tolist(), entries.tolist(), strict=True)
        table.split(factor)
        known = {granule * factor + part: row for granule, row in known.items() for part in range(factor)}
        granules *= factor
        everywhere = table.get(np.arange(granules))
        assert {at: everywhere[at].tolist() for at in np.flatnonzero(everywhere[:, WARP] != NOBODY).tolist()} == known
        at, entries = table.entries()
        assert dict(zip(at.tolist(), entries.tolist(), strict=True)) == known
        assert not any(table.misses(granule, granule) for granule in known)


@pytest.mark.parametrize("seed", range(8))
def test_an_overflow_keeps_all_accesses_of_split_granules_in_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    more, granules = Overflow(GRANULES), GRANULES
    known: dict[int, list[list[int]]] = {}
    for factor in (2, 4, 1, 2):
        for _ in range(3):
            at = rng.integers(0, granules, 20)
            entries = rows(rng, 20)
            more.add(at, entries)
            for granule, entry in zip(at.tolist(), entries.tolist(), strict=True):
                known.setdefault(granule, []).append(entry)
            gone = rng.choice(granules, 5, replace=False)
            more.drop(gone)
            for granule in gone.tolist():
                known.pop(granule, None)
        more.split(factor)
        known = {granule * factor + part: [*all_] for granule, all_ in known.items() for part in range(factor)}
        granules *= factor
    found = more.find(np.arange(granules))
    assert found is not None
    kept: dict[int, list[list[int]]] = {}
    for granule, entry in zip(found[0].tolist(), found[1].tolist(), strict=True):
        kept.setdefault(granule, []).append(entry)
    assert kept == known


@pytest.mark.parametrize("size", [1, 7, 50, 1 << 20])
def test_an_overflow_is_looked_up_in_parts_of_a_bounded_size(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(size)
    more, at = Overflow(GRANULES), np.sort(rng.integers(0, GRANULES, 300))
    more.add(at, rows(rng, 300))
    asked = rng.integers(0, GRANULES, 100)
    whole = more.find(asked)
    assert whole is not None
    monkeypatch.setattr(overflow, "_PART", size)
    parts = list(more.find_in_parts(asked))
    for found, wanted in zip(zip(*parts, strict=True), whole, strict=True):
        assert np.array_equal(np.concatenate(found), wanted)
    most = np.bincount(at).max()  # largest number of overflow rows of one granule
    assert max(len(which) for which, _ in parts) < size + most


@pytest.mark.parametrize("shape", [5, (3, 1 << 20)])
def test_sparse_tables_are_zeros_that_can_be_written(shape: int | tuple[int, ...]) -> None:
    table = zeros(shape, np.int64)
    assert table.shape == np.zeros(shape).shape
    assert not table.any()
    table.reshape(-1)[-1] = 7
    assert table.sum() == 7


@pytest.mark.parametrize("seed", range(8))
def test_a_summary_of_writes_says_what_all_of_a_wide_granule_was_written_by_or_that_several_were(seed: int) -> None:
    rng, parts = np.random.default_rng(seed), 4
    summary, known = Summary(GRANULES, by_last_write), np.zeros((GRANULES * parts, COLUMNS), np.int32)
    for _ in range(30):
        entries = rows(rng, 3)
        first, owners = np.sort(rng.choice(GRANULES * parts // 2, 3, replace=False)) * 2, np.arange(3)
        widths = rng.choice([1, parts, 2 * parts, 3 * parts], 3)
        at = np.concatenate([np.arange(start, start + width) for start, width in zip(first, widths, strict=True)])
        owners = owners.repeat(widths)[at < len(known)]
        at = at[at < len(known)]
        known[at] = entries[owners]
        summary.enter(at, parts, owners, entries)
    table = summary.table()
    assert table is not None
    said, parts_of = table.get(np.arange(GRANULES)), known.reshape(GRANULES, parts, COLUMNS)
    alike = (parts_of == parts_of[:, :1]).all(axis=(1, 2))
    sure = said[:, TIME] != SEVERAL
    assert (said[sure] == parts_of[sure, 0]).all()
    assert alike[sure].all()
    assert 0 < np.count_nonzero(sure & (said[:, WARP] != NOBODY)) < GRANULES
