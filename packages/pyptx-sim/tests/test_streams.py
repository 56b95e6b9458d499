"""Several launches in one run, in stream order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, Memory, run
from pyptx_sim.errors import LaunchError

from .streams import COPY, HEADER, WRITE, chained, each_schedule, entry, rules


@each_schedule
def test_a_launch_sees_what_the_ones_in_front_have_written(schedule: dict[str, Any]) -> None:
    """The kernels do not synchronize: the end of a launch orders its accesses before those of the next launch."""
    other_block = "xor.b32 %r6, %r1, 64; mad.wide.u32 %rd3, %r6, 4, %rd1;\n"
    x, y, result = chained(WRITE, other_block + COPY, plain=True, **schedule)
    assert result.findings == ()
    assert (y == (np.arange(512) ^ 64) + 100).all()
    assert (x == np.arange(512) + 100).all()
    assert result.statistics.ctas == 16


def test_entries_share_the_variables_of_their_module() -> None:
    """The entries reach different functions, with their own variables and address tables."""
    text = HEADER + (
        ".visible .global .u32 count = 5;\n"
        ".func f() { .global .u32 own = 1; .reg .b32 %r<2>; atom.global.add.u32 %r1, [own], 1; ret; }\n"
        ".func g() { .global .u32 other[40] = {7}; .reg .b32 %r<2>; atom.global.add.u32 %r1, [other], 1;\n"
        "atom.global.add.u32 %r1, [count], %r1; ret; }\n"
        + entry("first", "call f, (); call g, (); mov.u64 %rd5, g; st.global.u64 [%rd1], %rd5;")
        + entry(
            "second",
            "ld.global.u64 %rd5, [%rd1]; p: .callprototype _ ();\ncall %rd5, (), p; mov.u64 %rd6, g;\n"
            "ld.global.u32 %r5, [count]; st.global.u32 [%rd2], %r5;",
        )
    )
    x, y = np.zeros(2, np.uint32), np.zeros(1, np.uint32)
    result = run(text, [Launch(entry=name, grid=1, block=1, args=[x, y]) for name in ("first", "second")])
    assert result.findings == ()
    assert y[0] == 5 + 7 + 8


def test_launches_share_a_memory_made_before() -> None:
    text = HEADER + entry("write", WRITE) + entry("copy", COPY)
    memory = Memory()
    x, y = memory.put(np.arange(64, dtype=np.uint32), "x"), memory.empty(64, np.uint32, "y")
    result = run(text, [Launch(entry=name, grid=1, block=64, args=[x, y]) for name in ("write", "copy")])
    assert result.findings == ()
    assert (y.array == np.arange(64) + 100).all()


def test_what_launches_of_one_entry_have_in_common_is_found_once() -> None:
    racy = "st.global.u32 [%rd1], %r1;"
    _, _, once = chained(racy)
    text = HEADER + entry("k0", racy)
    x = np.zeros(512, np.uint32)
    twice = run(text, [Launch(grid=8, block=64, args=[x, x])] * 2)
    assert rules(twice) == rules(once)
    assert [each.count for each in twice.findings] == [2 * each.count for each in once.findings]


def test_fields_beside_several_launches_are_refused() -> None:
    launch = Launch(grid=1, block=1, args=[np.zeros(1, np.uint32)] * 2)
    with pytest.raises(LaunchError, match="several launches"):
        run(HEADER + entry("k", ""), [launch, launch], grid=2)
    with pytest.raises(LaunchError, match="trace= with several launches"):
        run(HEADER + entry("k", ""), [launch, launch], trace="run.json")
    with pytest.raises(LaunchError, match="no launch"):
        run(HEADER + entry("k", ""), [])
