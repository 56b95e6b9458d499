"""`Recent` returns the cached result of a function of registers, but only for the same array objects."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim.numerics.recent import MOST, Recent


@pytest.fixture
def counted():
    """Return a function that caches sums of registers, and a list that grows by one element per computation."""
    calls = []

    def total(registers):
        calls.append(len(registers))
        return np.add.reduce(registers)

    return Recent(total), calls


def registers(seed, count=4):
    random = np.random.default_rng(seed)
    return [random.standard_normal((3, 32)).astype(np.float32) for _ in range(count)]


def test_the_same_arrays_are_computed_once(counted):
    recent, calls = counted
    arrays = registers(0)
    first = recent(arrays)
    assert recent(list(arrays)) is first
    assert calls == [4]
    np.testing.assert_array_equal(first, np.add.reduce(arrays))


def test_equal_numbers_in_other_arrays_or_another_order_are_computed_anew(counted):
    recent, calls = counted
    arrays = registers(0)
    recent(arrays)
    recent([array.copy() for array in arrays])
    recent(arrays[::-1])
    recent(arrays[:2])
    assert len(calls) == 4


def test_what_is_taken_is_forgotten(counted):
    recent, calls = counted
    arrays = registers(1)
    kept = np.ones((3, 32), np.float32)
    recent.keep(arrays, kept)
    assert recent.take(arrays) is kept
    np.testing.assert_array_equal(recent.take(arrays), np.add.reduce(arrays))
    assert len(calls) == 1


def test_no_array_is_taken_for_one_that_is_gone(counted):
    recent, _ = counted
    for seed in range(5 * MOST):  # new arrays, which may reuse the address of a freed array
        arrays = registers(seed)
        np.testing.assert_array_equal(recent(arrays), np.add.reduce(arrays))


def test_the_oldest_results_are_pushed_out(counted):
    recent, calls = counted
    many = [registers(seed, count=1) for seed in range(MOST + 1)]
    for arrays in many:
        recent(arrays)
    recent(many[-1])
    assert len(calls) == MOST + 1
    recent(many[0])
    assert len(calls) == MOST + 2


def test_results_that_are_shared_cannot_be_changed(counted):
    recent, _ = counted
    with pytest.raises(ValueError, match="read-only"):
        recent(registers(2))[0, 0] = 1


def test_results_go_with_their_registers(counted):
    recent, _ = counted
    arrays, others = registers(0), registers(1)
    recent(arrays)
    recent(others)
    assert len(recent) == 2
    del arrays[0]
    assert len(recent) == 1
    others.clear()
    assert len(recent) == 0
