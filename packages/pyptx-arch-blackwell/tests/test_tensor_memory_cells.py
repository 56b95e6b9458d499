"""Places (byte numbers in race checks) of tensor memory: unique, and contiguous for words that are used together."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_arch_blackwell.datapath import LANES, Rectangle
from pyptx_arch_blackwell.sim.moves import window
from pyptx_arch_blackwell.sim.tensor_memory import COLUMNS, SPACE, WORD, Pieces, placed, touch

BLOCK = LANES * COLUMNS * WORD
RNG = np.random.default_rng(0)


def words_of(block: int, lanes: range, columns: range) -> np.ndarray:
    """Return the indices, in the array of all tensor memory, of the words of a rectangle of lanes and columns."""
    return ((block * LANES + np.array(lanes)[:, None]) * COLUMNS + np.array(columns)).reshape(-1)


def told(offsets: np.ndarray, size: int) -> list[int]:
    """Return the sorted byte offsets of all words in runs of `size` bytes that start at `offsets`."""
    return sorted((offsets[:, None] + np.arange(0, size, WORD)).reshape(-1).tolist())


def test_every_cell_has_a_place_of_its_own_in_its_block() -> None:
    for block in (0, 3):
        places = placed(block * LANES * COLUMNS + np.arange(LANES * COLUMNS))
        assert sorted(places.tolist()) == list(range(block * BLOCK, (block + 1) * BLOCK, WORD))


def test_a_place_is_described_by_its_lane_and_column() -> None:
    for lane, column in ((0, 0), (1, 0), (127, 511), *RNG.integers((0, 0), (LANES, COLUMNS), (50, 2)).tolist()):
        (place,) = placed(np.array([lane * COLUMNS + column])).tolist()
        assert SPACE.describe(place) == f"tmem lane {lane}, column {column}"


@pytest.mark.parametrize("turn", range(40))
def test_a_rectangle_is_told_of_cell_by_cell(turn: int) -> None:
    rng = np.random.default_rng(turn)
    step = (1, 2, 4, 32)[turn % 4]
    low, high = np.sort(rng.choice(LANES // step + 1, 2, replace=False)) * step
    left, right = np.sort(rng.choice(COLUMNS // step + 1, 2, replace=False)) * step
    lanes, columns = range(int(low), int(high)), range(int(left), int(right))
    blocks, part = np.array([1, 4]), Rectangle(0, 0, len(lanes), 0, len(columns), lanes.start)
    found = touch(blocks, np.full(2, columns.start), (part,), writes=True)
    for number, block in enumerate(blocks.tolist()):
        expected = sorted(placed(words_of(block, lanes, columns)).tolist())
        assert told(found.offsets[found.owners == number], found.size) == expected


def test_what_is_used_together_is_told_of_in_wide_pieces() -> None:
    def width(lane: int, lanes: int, column: int, columns: int) -> int:
        part = (Rectangle(0, 0, lanes, 0, columns, lane),)
        return touch(np.array([2]), np.array([column]), part, writes=False).size

    assert width(0, 128, 64, 256) == 1024  # bytes per race-check access to an accumulator in all lanes
    assert width(32, 32, 300, 4) == 512  # bytes per race-check access to scale factors in a lane quarter
    assert width(0, 128, 300, 4) == 1024
    assert width(16, 16, 8, 8) == 256
    assert width(0, 128, 2, 4) == 8
    assert width(0, 128, 3, 1) == WORD


@pytest.mark.parametrize("shape", ["16x64b", "16x128b", "16x256b", "32x32b", "16x32bx2"])
@pytest.mark.parametrize("repeats", [1, 2, 8])
def test_a_warp_s_cells_are_told_of_one_by_one(shape: str, repeats: int) -> None:
    if shape == "16x256b" and repeats == 1:
        repeats = 4
    cells = window(shape, repeats, 12 if shape == "16x32bx2" else 0, halves=False)
    expected = sorted({*placed(cells.words.reshape(-1)).tolist()})
    assert told(cells.pieces.starts, cells.pieces.size) == expected
    assert cells.pieces.size >= min(16, cells.columns * WORD) or shape == "16x32bx2"


def test_pieces_are_as_wide_as_runs_and_where_they_begin_allow() -> None:
    assert Pieces.of(np.arange(512, 2048, 4)).size == 512
    assert Pieces.of(np.array([16, 20, 24, 28])).size == 16
    assert Pieces.of(np.array([8, 12, 32, 36])).size == 8
    assert Pieces.of(np.array([4])).size == 4
    assert Pieces.of(np.array([4])).split(4).tolist() == [4]
    assert Pieces.of(np.arange(0, 64, 4)).split(16).tolist() == [0, 16, 32, 48]
