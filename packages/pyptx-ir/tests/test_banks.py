"""Bank conflicts equal those of a shared memory that serves one word of each bank at a time."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx_ir.banks import bank_conflicts

sizes = st.sampled_from((1, 2, 4, 8, 16))


def served(addresses: list[int | None], size: int) -> int:
    """Return the number of turns of a memory in which each of 32 banks delivers one 4-byte word per turn."""
    turns = 0
    at_once = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[size]
    for first in range(0, 32, at_once):
        wanted = {
            byte >> 2
            for address in addresses[first : first + at_once]
            if address is not None
            for byte in range(address, address + size)
        }
        while wanted:
            turns += 1
            delivered = {}
            for word in wanted:
                delivered.setdefault(word & 31, word)
            wanted -= set(delivered.values())
    return turns


@given(sizes.flatmap(lambda size: st.tuples(st.just(size), st.lists(st.none() | st.integers(0, 4096), max_size=32))))
def test_the_number_of_wavefronts_is_that_of_a_memory_with_32_banks(case: tuple[int, list[int | None]]) -> None:
    size, numbers = case
    addresses = [None if number is None else number * size for number in numbers]
    found = bank_conflicts(addresses, size)
    assert found.wavefronts == served(addresses, size)
    assert 0 <= found.extra == found.wavefronts - len(found.groups)
    assert all(1 <= ways <= 32 for ways in found.ways)


@pytest.mark.parametrize(
    ("stride", "size", "wavefronts"),
    [
        *((1, 4, 1), (2, 4, 2), (3, 4, 1)),  # CUDA programming guide, figure "Strided Shared Memory Accesses"
        *((4, 4, 4), (16, 4, 16), (32, 4, 32), (33, 4, 1), (0, 4, 1), (64, 4, 32)),
        *((2, 8, 2), (32, 8, 32), (34, 8, 2), (4, 16, 4), (32, 16, 32), (36, 16, 4)),
    ],
)
def test_accesses_with_a_stride_of_words(stride: int, size: int, wavefronts: int) -> None:
    assert bank_conflicts([lane * stride * 4 for lane in range(32)], size).wavefronts == wavefronts


def test_lanes_that_read_one_word_do_not_conflict() -> None:
    assert bank_conflicts([0] * 32).extra == 0
    assert bank_conflicts(list(range(32)), 1).wavefronts == 1
    assert bank_conflicts([0, 128], 4).wavefronts == 2
    assert bank_conflicts([]).wavefronts == 0


def test_an_access_prints_its_number_of_wavefronts() -> None:
    assert str(bank_conflicts([lane * 128 for lane in range(32)])) == (
        "32 wavefronts, of which bank conflicts cause 31 (4 bytes per lane, up to 32-way)"
    )
    assert str(bank_conflicts([lane * 16 for lane in range(32)], 16)) == (
        "4 wavefronts, of which bank conflicts cause 0 (16 bytes per lane)"
    )


@pytest.mark.parametrize(
    ("addresses", "size", "said"),
    [
        ([0] * 33, 4, "a warp has 32 lanes, got 33 addresses"),
        ([0], 3, "bytes must be one of 1, 2, 4, 8, 16, got 3"),
        ([0, 2], 4, "lane 1: address 2 is not a multiple of 4"),
        ([-4], 4, "lane 0: address -4 is not a multiple of 4"),
    ],
)
def test_wrong_accesses_are_errors(addresses: list[int], size: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bank_conflicts(addresses, size)


def test_a_drawing_shows_each_lane_in_its_word() -> None:
    root = ET.fromstring(bank_conflicts([lane * 8 for lane in range(32)]).to_svg())  # noqa: S314 - our own text
    tips = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert tips == [f"word {2 * lane}, bank {2 * lane % 32}: lanes {lane}" for lane in range(32)]
    texts = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "lanes 0-31: 2 wavefronts" in texts
    many = bank_conflicts([lane * 128 for lane in range(16)] + [4096 * lane for lane in range(16)], 16)
    assert ET.fromstring(many.to_svg()).get("width") == root.get("width")  # noqa: S314 - our own text
