"""Each use of an mbarrier must be ordered after its mbarrier.init, for every lane and every mbarrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_text import execute
from .test_async_copy import each_schedule

BEFORE = ".shared .align 8 .b64 bar[2];\n.global .align 4 .b32 ready;\n.global .align 4 .b32 next;"

# Thread 0 initializes two mbarriers. Thread 32 acquires the initialization and arrives at the first one.
# Thread 33, of the same warp, then arrives at PLACE; it acquires the initialization only if ORDER is `acquire`.
TWO_LANES = """
setp.ne.u32 %p0, %r0, 0;
@%p0 bra OTHERS;
mbarrier.init.shared.b64 [bar], 2;
mbarrier.init.shared.b64 [bar+8], 1;
st.release.gpu.global.u32 [ready], 1;
bra END;
OTHERS:
setp.ne.u32 %p1, %r0, 32;
@%p1 bra THIRD;
HEAR:
ld.acquire.gpu.global.u32 %r1, [ready];
setp.eq.u32 %p2, %r1, 0;
@%p2 bra HEAR;
mbarrier.arrive.shared.b64 _, [bar];
st.relaxed.gpu.global.u32 [next], 1;
bra END;
THIRD:
setp.ne.u32 %p3, %r0, 33;
@%p3 bra END;
HEAR_NEXT:
ld.relaxed.gpu.global.u32 %r1, [next];
setp.eq.u32 %p4, %r1, 0;
@%p4 bra HEAR_NEXT;
HEAR_TOO:
ld.ORDER.gpu.global.u32 %r1, [ready];
setp.eq.u32 %p5, %r1, 0;
@%p5 bra HEAR_TOO;
mbarrier.arrive.shared.b64 _, [PLACE];
END:
"""

# All threads of warp 1 use both mbarriers after bar.sync.
# `LATE` is replaced by a harmless instruction, or by a second initialization of the second mbarrier.
TWO_TIMES = """
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 33;
@%p0 mbarrier.init.shared.b64 [bar+8], 32;
bar.sync 0;
@%p0 mbarrier.arrive.shared.b64 _, [bar];
@%p0 LATE
setp.lt.u32 %p1, %r0, 32;
@%p1 bra END;
mbarrier.arrive.shared.b64 _, [bar];
WAIT:
mbarrier.test_wait.parity.relaxed.cta.shared.b64 %p2, [bar], 0;
@!%p2 bra WAIT;
mbarrier.arrive.shared.b64 _, [bar+8];
END:
"""
AGAIN = "mbarrier.inval.shared.b64 [bar+8];\n@%p0 mbarrier.init.shared.b64 [bar+8], 32;"


def found(body: str, **schedule: Any) -> set[str]:
    """Run a kernel body in a CTA of two warps; return the rules of the findings."""
    result = execute(body, np.zeros(64, np.uint32), block=64, before=BEFORE, **schedule)
    return {finding.rule for finding in result.findings}


@each_schedule
@pytest.mark.parametrize("place", ["bar", "bar+8"])
@pytest.mark.parametrize(("order", "rules"), [("acquire", set()), ("relaxed", {"mbarrier-init-race"})])
def test_an_acquire_of_one_lane_does_not_order_another(
    schedule: dict[str, Any], order: str, rules: set[str], place: str
) -> None:
    assert found(TWO_LANES.replace("ORDER", order).replace("PLACE", place), **schedule) == rules


@each_schedule
def test_what_a_barrier_tells_holds_for_all_that_was_initialized_before_it(schedule: dict[str, Any]) -> None:
    assert found(TWO_TIMES.replace("LATE", "mov.u32 %r2, 0;"), **schedule) == set()


@pytest.mark.parametrize("seed", range(8))
def test_and_not_for_what_was_initialized_behind_it(seed: int) -> None:
    """The second mbarrier is invalidated and initialized again; warp 1 may also use it while it is invalid."""
    told = {"mbarrier-init-race", "mbarrier-uninitialized", "mbarrier-inval"}
    assert found(TWO_TIMES.replace("LATE", AGAIN), seed=seed) & told


def test_in_order_only_the_new_initialization_is_not_known() -> None:
    assert found(TWO_TIMES.replace("LATE", AGAIN)) == {"mbarrier-init-race"}


INIT = "setp.eq.u32 %p0, %r0, 0;\nsetp.eq.u32 %p1, %r0, 1;\n@%p0 mbarrier.init.shared.b64 [bar], 32;\n"
USE = "setp.lt.u32 %p2, %r0, 32;\n@%p2 mbarrier.arrive.shared.b64 _, [bar];\n"
# Lanes 0 and 1 of warp 0 use the mbarrier at bar.
# Lane 0 then arrives at the mbarrier at bar+8; a thread that waits there invalidates the mbarrier at bar.
TWO_USERS = """
setp.eq.u32 %p0, %r0, 0;
setp.eq.u32 %p1, %r0, 1;
@%p0 mbarrier.init.shared.b64 [bar], 8;
@%p0 mbarrier.init.shared.b64 [bar+8], 1;
bar.sync 0;
@%p1 mbarrier.arrive.shared.b64 _, [bar];
MEETS
@%p0 mbarrier.arrive.shared.b64 _, [bar];
@%p0 mbarrier.arrive.shared.b64 _, [bar+8];
setp.ne.u32 %p3, %r0, 32;
@%p3 bra END;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0;
@!%p2 bra WAIT;
mbarrier.inval.shared.b64 [bar];
END:
"""


@each_schedule
@pytest.mark.parametrize(("meets", "rules"), [("bar.warp.sync -1;", set()), ("", {"mbarrier-init-race"})])
def test_lanes_of_the_warp_that_initializes_synchronize(schedule: dict[str, Any], meets: str, rules: set[str]) -> None:
    assert found(INIT + meets + USE, **schedule) == rules
    own = "@%p0 mbarrier.arrive.shared.b64 _, [bar];\n"  # program order puts this arrival after mbarrier.init
    assert found(INIT + own, **schedule) == set()
    assert found(INIT + own + meets + own.replace("%p0", "%p1"), **schedule) == rules


@each_schedule
@pytest.mark.parametrize(("meets", "rules"), [("bar.warp.sync -1;", set()), ("", {"mbarrier-inval"})])
def test_the_end_is_ordered_after_the_uses_of_all_lanes(schedule: dict[str, Any], meets: str, rules: set[str]) -> None:
    assert found(TWO_USERS.replace("MEETS", meets), **schedule) == rules
    use, end = "@%p1 mbarrier.arrive.shared.b64 _, [bar];\n", "@%p0 mbarrier.inval.shared.b64 [bar];\n"
    assert found(INIT + "bar.sync 0;\n" + use + meets + end, **schedule) == rules
