"""Asynchronous copies and lanes of one warp: a wait orders only the copies of the thread that waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from .ptx_text import execute

pytestmark = pytest.mark.scaled(3)

SCHEDULES = [(seed, late) for seed in range(4) for late in (False, True)]
PARAMETERS = ".param .u64 out, .param .u64 x"
BEFORE = ".shared .align 128 .b8 s[1024];\n.shared .align 8 .b64 bar[2];"
# Each lane has 16 bytes of s at %r1, of x at %rd2, of out at %rd3; lane ^ 1 has its bytes at %r7, %rd5 and %rd6.
HEAD = """
ld.param.u64 %rd4, [x];
mov.u32 %r2, s; mad.lo.u32 %r1, %r0, 16, %r2; mad.wide.u32 %rd2, %r0, 16, %rd4; mad.wide.u32 %rd3, %r0, 16, %rd0;
xor.b32 %r6, %r0, 1; mad.lo.u32 %r7, %r6, 16, %r2; mad.wide.u32 %rd5, %r6, 16, %rd4; mad.wide.u32 %rd6, %r6, 16, %rd0;
setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r0, 1; setp.le.u32 %p2, %r0, 1; setp.lt.u32 %p3, %r0, 16;
setp.ge.u32 %p4, %r0, 32; mov.u32 %r3, bar;
"""
INIT = "@%p0 mbarrier.init.shared.b64 [bar], {0}; @%p0 mbarrier.init.shared.b64 [bar+8], {0}; bar.sync 0;\n"
WAIT = "{0}: mbarrier.try_wait.parity.shared.b64 %p8, [bar+{1}], 0; @!%p8 bra {0};\n"
FILL = "st.shared.v4.u32 [%r1], {%r0, %r0, %r0, %r0}; fence.proxy.async.shared::cta; bar.sync 0;\n"
OWN = "st.shared.u32 [%r1], 7;\n"
OTHER = "st.shared.u32 [%r7], 7;\n"
STORE = "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r1], 16; cp.async.bulk.commit_group;\n"
READ, DONE = "cp.async.bulk.wait_group.read 0;\n", "cp.async.bulk.wait_group 0;\n"
COPY = "cp.async.ca.shared.global [%r1], [%rd2], 4; cp.async.commit_group;\n"
SYNC = "bar.warp.sync -1;\n"


def guarded(predicate: str, body: str) -> str:
    """Return PTX with `predicate` as the guard of each instruction."""
    return "".join(f"@{predicate} {each.strip()};\n" for each in body.split(";") if each.strip())


def branches(first: str, second: str, predicate: str = "%p0") -> str:
    """Return a branch: lanes whose predicate holds execute `first`, the other lanes `second`."""
    return f"@!{predicate} bra ELSE;\n{first}bra JOINED;\nELSE:\n{second}JOINED:\n"


@dataclass(frozen=True, slots=True)
class Case:
    """Kernel body for two warps, and the rule that it violates; None if it is correct."""

    title: str
    body: str
    rule: str | None = None


def case(title: str, *parts: str, rule: str | None = None) -> Case:
    return Case(title, "".join(parts), rule)


ISSUED = FILL + guarded("%p0", STORE)
SOME = FILL + guarded("%p2", STORE)
ONLY_FIRST = "@%p4 bra END;\n"
END = "END:\n"
EARLY, UNREAD = "early-reuse", "read-before-wait"

BULK_SOURCES = (
    case("lane 0 waits and writes its source", ISSUED, branches(READ + OWN, "")),
    case("lane 1 writes lane 0's source afterwards", ISSUED, branches(READ, ""), guarded("%p1", OTHER), rule=EARLY),
    case("lane 1 writes lane 0's source in its branch", ISSUED, branches(READ, guarded("%p1", OTHER)), rule=EARLY),
    case("lane 1 writes lane 0's source after a warp barrier", ISSUED, branches(READ, ""), SYNC, guarded("%p1", OTHER)),
    case("each lane waits in its branch and writes its source", SOME, branches(READ + OWN, guarded("%p1", READ + OWN))),
    case("lanes wait and write one after the other", SOME, guarded("%p1", READ + OWN), guarded("%p0", READ + OWN)),
    case(
        "two lanes write each other's source without a warp barrier",
        SOME,
        branches(READ, guarded("%p1", READ)),
        guarded("%p2", OTHER),
        rule=EARLY,
    ),
    case(
        "two lanes write each other's source after a warp barrier",
        SOME,
        branches(READ, guarded("%p1", READ)),
        SYNC,
        guarded("%p2", OTHER),
    ),
    case(
        "two lanes issue in branches and wait in reverse order",
        FILL,
        branches(STORE, guarded("%p1", STORE)),
        guarded("%p1", READ + OWN),
        guarded("%p0", READ + OWN),
    ),
    case(
        "the lane that waits last writes another lane's source",
        FILL,
        branches(STORE, guarded("%p1", STORE)),
        SYNC,
        guarded("%p1", READ),
        guarded("%p0", READ),
        guarded("%p0", OTHER),
        rule=EARLY,
    ),
    case("all lanes wait together and write their own sources", FILL, STORE, READ, OWN),
    case("all lanes wait together and write other lanes' sources", FILL, STORE, READ, OTHER, rule=EARLY),
    case("all lanes wait together and write other lanes' sources after a warp barrier", FILL, STORE, READ, SYNC, OTHER),
    case(
        "two lanes bulk-store one source, and one lane waits before a write",
        FILL,
        guarded("%p0", STORE),
        guarded("%p1", STORE.replace("%r1", "%r7")),
        guarded("%p1", READ + OTHER),
        guarded("%p0", READ),
        rule=EARLY,
    ),
    case(
        "two lanes bulk-store one source, and both wait before a write",
        FILL,
        guarded("%p0", STORE),
        guarded("%p1", STORE.replace("%r1", "%r7")),
        guarded("%p1", READ),
        guarded("%p0", READ),
        SYNC,
        guarded("%p1", OTHER),
    ),
)
AT_ONCE = STORE.replace("[%r1]", "[%r2]")
BULK_AT_ONCE = (
    case(
        "two lanes bulk-store one source by one instruction, and one waits before a write",
        FILL,
        guarded("%p2", AT_ONCE),
        guarded("%p1", READ + "st.shared.u32 [%r2], 7;"),
        guarded("%p0", READ),
        rule=EARLY,
    ),
    case(
        "two lanes bulk-store one source by one instruction, and both wait before a write",
        FILL,
        guarded("%p2", AT_ONCE + READ),
        SYNC,
        guarded("%p1", "st.shared.u32 [%r2], 7;"),
    ),
)
LOOK, LOOK_OTHER = "ld.global.u32 %r9, [%rd3];\n", "ld.global.u32 %r9, [%rd6];\n"
BULK_TARGETS = (
    case("the lane that waited reads the destination", ISSUED, branches(DONE + LOOK, "")),
    case("another lane reads", ISSUED, branches(DONE, ""), guarded("%p1", LOOK_OTHER), rule=UNREAD),
    case("another lane reads after a warp barrier", ISSUED, branches(DONE, ""), SYNC, guarded("%p1", LOOK_OTHER)),
    case("all lanes read their own destinations", FILL, STORE, DONE, LOOK),
    case("all lanes read other lanes' destinations", FILL, STORE, DONE, LOOK_OTHER, rule=UNREAD),
    case("all lanes read other lanes' destinations after a warp barrier", FILL, STORE, DONE, SYNC, LOOK_OTHER),
    case(
        "a bulk store overwrites words that another lane has read",
        FILL,
        guarded("%p1", LOOK_OTHER),
        guarded("%p0", STORE + DONE),
        rule=EARLY,
    ),
    case(
        "a bulk store overwrites words that another lane has read before a warp barrier",
        FILL,
        guarded("%p1", LOOK_OTHER),
        SYNC,
        guarded("%p0", STORE + DONE),
    ),
)
ARRIVE = "mbarrier.arrive.shared.b64 %rd9, [bar];\n"
TOLD = INIT.format(1) + ISSUED
LAST = "END: setp.eq.u32 %p5, %r0, 32; @!%p5 bra OUT;\n" + WAIT.format("W", 0) + "st.shared.u32 [s], 7;\nOUT:\n"
FLAG = "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%rd0+2048], 1;\n"
POLL = "F: ld.relaxed.gpu.global.u32 %r9, [%rd0+2048]; setp.eq.u32 %p8, %r9, 0; @%p8 bra F; fence.acq_rel.gpu;\n"
FLAGGED = f"END: setp.eq.u32 %p5, %r0, 32; @!%p5 bra OUT;\n{POLL}st.shared.u32 [s], 7;\nOUT:\n"
BULK_TOLD = (
    case("the lane that waited arrives at the mbarrier", TOLD, ONLY_FIRST, guarded("%p0", READ + ARRIVE), LAST),
    case("another lane arrives", TOLD, ONLY_FIRST, guarded("%p0", READ), guarded("%p1", ARRIVE), LAST, rule=EARLY),
    case(
        "another lane arrives at the mbarrier after a warp barrier",
        TOLD,
        ONLY_FIRST,
        guarded("%p0", READ),
        SYNC,
        guarded("%p1", ARRIVE),
        LAST,
    ),
    case(
        "one of two lanes arrives, and its own source is written",
        INIT.format(1),
        SOME,
        ONLY_FIRST,
        guarded("%p1", READ),
        guarded("%p0", READ),
        guarded("%p0", ARRIVE),
        LAST,
    ),
    case(
        "a lane that waited sets a flag",
        ISSUED,
        ONLY_FIRST,
        guarded("%p0", READ + FLAG),
        FLAGGED,
    ),
    case(
        "a lane that did not wait sets a flag",
        ISSUED,
        ONLY_FIRST,
        guarded("%p0", READ),
        guarded("%p1", FLAG),
        FLAGGED,
        rule=EARLY,
    ),
    case(
        "one of two lanes arrives, and the other lane's source is written",
        INIT.format(1),
        SOME,
        ONLY_FIRST,
        guarded("%p1", READ),
        guarded("%p0", READ),
        guarded("%p1", ARRIVE),
        LAST,
        rule=EARLY,
    ),
)
SOURCE, SOURCE_OTHER = "st.global.u32 [%rd2], 7;\n", "st.global.u32 [%rd5], 7;\n"
ALL = "cp.async.wait_group 0;\n"
COPIES = (
    case("copies: lanes write their own sources", COPY, ALL, SOURCE),
    case("copies: lanes write other lanes' sources", COPY, ALL, SOURCE_OTHER, rule=EARLY),
    case("copies: lanes write other lanes' sources after a warp barrier", COPY, ALL, SYNC, SOURCE_OTHER),
    case(
        "copies: lanes wait in branches and write their own sources",
        COPY,
        branches(ALL + SOURCE, ALL + SOURCE, "%p3"),
    ),
    case(
        "copies: lanes wait in branches and write other lanes' sources",
        COPY,
        branches(ALL, ALL),
        SOURCE_OTHER,
        rule=EARLY,
    ),
    case("copies: one lane waits and writes its own source", COPY, guarded("%p1", ALL + SOURCE), ALL),
    case(
        "copies: one lane waits and another lane writes the first lane's source",
        COPY,
        guarded("%p1", ALL),
        guarded("%p0", SOURCE_OTHER),
        ALL,
        rule=EARLY,
    ),
    case(
        "copies: two lanes copy the same bytes, and one waits before a write",
        guarded("%p0", COPY),
        guarded("%p1", COPY.replace("%rd2", "%rd5")),
        guarded("%p1", ALL + SOURCE_OTHER),
        ALL,
        rule=EARLY,
    ),
)
SHARED_SOURCE = COPY.replace("[%rd2]", "[%rd4]")
COPIES_AT_ONCE = (
    case(
        "copies: two lanes copy the same bytes by one instruction, and one waits before a write",
        guarded("%p2", SHARED_SOURCE),
        guarded("%p1", ALL + "st.global.u32 [%rd4], 7;"),
        ALL,
        rule=EARLY,
    ),
    case(
        "copies: two lanes copy the same bytes by one instruction, and both wait before a write",
        guarded("%p2", SHARED_SOURCE),
        ALL,
        SYNC,
        guarded("%p1", "st.global.u32 [%rd4], 7;"),
    ),
)
FOLLOW = "cp.async.mbarrier.arrive.noinc.shared.b64 [{0}];\n"
USE = "ld.shared.u32 %r9, [{0}];\n"
TAIL = END + ALL
FOLLOWED = (
    case(
        "halves of a warp arrive at two mbarriers, and all lanes wait at both",
        INIT.format(16),
        ONLY_FIRST,
        COPY,
        guarded("%p3", FOLLOW.format("bar")),
        guarded("!%p3", FOLLOW.format("bar+8")),
        WAIT.format("W", 0),
        WAIT.format("V", 8),
        USE.format("%r7"),
        TAIL,
    ),
    case(
        "each half of a warp waits at the mbarrier of its own copies",
        INIT.format(16),
        ONLY_FIRST,
        COPY,
        guarded("%p3", FOLLOW.format("bar")),
        guarded("!%p3", FOLLOW.format("bar+8")),
        branches(WAIT.format("W", 0), WAIT.format("V", 8), "%p3"),
        USE.format("%r7"),
        TAIL,
    ),
    case(
        "each half of a warp waits at the mbarrier of the other half",
        INIT.format(16),
        ONLY_FIRST,
        COPY,
        guarded("%p3", FOLLOW.format("bar")),
        guarded("!%p3", FOLLOW.format("bar+8")),
        branches(WAIT.format("W", 8), WAIT.format("V", 0), "%p3"),
        USE.format("%r7"),
        TAIL,
        rule=UNREAD,
    ),
    case(
        "one lane arrives for its copy, and its word is read",
        INIT.format(1),
        ONLY_FIRST,
        COPY,
        guarded("%p0", FOLLOW.format("bar")),
        WAIT.format("W", 0),
        USE.format("s"),
        TAIL,
    ),
    case(
        "one lane arrives for its copy, and another lane's word is read",
        INIT.format(1),
        ONLY_FIRST,
        COPY,
        guarded("%p0", FOLLOW.format("bar")),
        WAIT.format("W", 0),
        USE.format("s+16"),
        TAIL,
        rule=UNREAD,
    ),
)
LOAD = (
    INIT.format(1) + "@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n"
    "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd4], 64, [bar];\n"
)
ONE, TWO = WAIT.format("W", 0), WAIT.format("V", 0)
LOADS = (
    case("the lane that waited for the phase reads", LOAD, branches(ONE + USE.format("s"), "")),
    case(
        "another lane reads without a wait or a warp barrier",
        LOAD,
        branches(ONE, ""),
        guarded("%p1", USE.format("s")),
        rule=UNREAD,
    ),
    case("another lane reads in the other branch", LOAD, branches(ONE, guarded("%p1", USE.format("s"))), rule=UNREAD),
    case("each branch waits for the phase and reads", LOAD, branches(ONE + USE.format("s"), TWO + USE.format("s+16"))),
    case("another lane reads after a warp barrier", LOAD, branches(ONE, ""), SYNC, guarded("%p1", USE.format("s"))),
)
HOPPER = (*BULK_SOURCES, *BULK_AT_ONCE, *BULK_TARGETS, *BULK_TOLD, *LOADS)
PLAIN = (*COPIES, *COPIES_AT_ONCE, *FOLLOWED)
CASES = (*PLAIN, *(pytest.param(each, marks=pytest.mark.hopper) for each in HOPPER))


def rules(each: Case, seed: int, *, delay_async: bool) -> set[str]:
    out, x = np.zeros(1024, np.uint32), np.arange(256, dtype=np.uint32)
    options = {"parameters": PARAMETERS, "before": BEFORE, "block": 64, "seed": seed, "delay_async": delay_async}
    found = execute(HEAD + each.body, out, x, **options).findings
    return {finding.rule for finding in found if finding.severity != "note"}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("each", CASES, ids=[each.title for each in (*PLAIN, *HOPPER)])
def test_the_wait_of_each_lane_decides(each: Case, schedule: tuple[int, bool]) -> None:
    seed, delay_async = schedule
    assert rules(each, seed, delay_async=delay_async) == ({each.rule} if each.rule else set())


def test_lanes_run_apart_in_programs_with_copies() -> None:
    body = f"""
    ld.relaxed.gpu.global.u32 %r20, [%rd0+512]; {COPY}{ALL}
    atom.global.add.u32 %r21, [%rd0+512], 1; atom.global.add.u32 %r22, [%rd0+512], 1;
    st.global.u32 [%rd1], %r21;
    """
    seen = []
    for seed in range(1, 20):
        out, x = np.zeros(256, np.uint32), np.arange(256, dtype=np.uint32)
        assert execute(HEAD + body, out, x, parameters=PARAMETERS, before=BEFORE, seed=seed).findings == ()
        seen.append(out[:32].max())
    assert min(seen) == 31  # under some seed, all lanes execute each instruction before the next instruction
    assert max(seen) > 31
