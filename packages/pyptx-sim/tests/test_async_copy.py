"""cp.async: copied bytes and time of completion, with groups and with mbarriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.errors import MemoryFault

from .ptx_text import execute, module

SCHEDULES: tuple[dict[str, Any], ...] = ({}, {"seed": 1}, {"seed": 2}, {"delay_async": True})
each_schedule = pytest.mark.parametrize("schedule", SCHEDULES, ids=["in order", "seed 1", "seed 2", "delay_async"])

BEFORE = ".shared .align 128 .b8 s[4096];\n.shared .align 8 .b64 bar[4];"
PARAMETERS = ".param .u64 out, .param .u64 x"
# %r1 is &s[tid * size], %rd3 is &x[tid * size].
ADDRESSES = """
ld.param.u64 %rd2, [x];
mov.u32 %r2, s;
mad.lo.u32 %r1, %r0, {size}, %r2;
mad.wide.u32 %rd3, %r0, {size}, %rd2;
"""


def copied(size: int, copy: str, *, wait: str = "cp.async.wait_all;", **options: Any) -> np.ndarray[Any, Any]:
    """Copy `size` bytes per thread with 64 threads; return the bytes that other threads then read in shared memory."""
    out, x = np.zeros(64 * size, np.uint8), np.arange(1, 64 * size + 1).astype(np.uint8)
    body = f"""
    {ADDRESSES.format(size=size)}
    {copy}
    {wait}
    bar.sync 0;
    xor.b32 %r3, %r0, 63;
    mad.lo.u32 %r4, %r3, {size}, %r2;
    mad.wide.u32 %rd4, %r3, {size}, %rd0;
    """
    for word in range(size // 4):
        body += f"ld.shared.u32 %r5, [%r4+{4 * word}];\nst.global.u32 [%rd4+{4 * word}], %r5;\n"
    result = execute(body, out, x, block=64, parameters=PARAMETERS, before=BEFORE, **options)
    assert result.findings == ()
    return out.reshape(64, size)


@each_schedule
@pytest.mark.parametrize(
    ("cache", "size", "hint", "policy"),
    [
        ("ca", 4, "", ""),
        ("ca", 8, ".L2::128B", ""),
        ("ca", 16, "", ""),
        ("cg", 16, ".L2::cache_hint.L2::64B", ", %rd9"),
    ],
)
def test_a_copy_brings_its_bytes(schedule: dict[str, Any], cache: str, size: int, hint: str, policy: str) -> None:
    copy = f"mov.u64 %rd9, 0;\ncp.async.{cache}.shared.global{hint} [%r1], [%rd3], {size}{policy};"
    assert (copied(size, copy, **schedule).ravel() == np.arange(1, 64 * size + 1).astype(np.uint8)).all()


@each_schedule
@pytest.mark.parametrize("size", [4, 8, 16])
def test_what_is_not_read_becomes_zeros(schedule: dict[str, Any], size: int) -> None:
    copy = f"rem.u32 %r9, %r0, {size + 1};\ncp.async.ca.shared::cta.global [%r1], [%rd3], {size}, %r9;"
    expected = np.arange(1, 64 * size + 1).astype(np.uint8).reshape(64, size)
    used = (np.arange(64) % (size + 1))[:, None]
    assert (copied(size, copy, **schedule) == np.where(np.arange(size) < used, expected, 0)).all()


@each_schedule
def test_a_source_that_is_ignored_is_not_touched(schedule: dict[str, Any]) -> None:
    copy = """
    setp.ge.u32 %p1, %r0, 32;
    selp.b64 %rd3, 0, %rd3, %p1;
    cp.async.cg.shared.global [%r1], [%rd3], 16, %p1;
    """
    found = copied(16, copy, **schedule)
    assert (found[:32].ravel() == np.arange(1, 513).astype(np.uint8)).all()
    assert not found[32:].any()


@each_schedule
def test_groups_complete_in_order(schedule: dict[str, Any]) -> None:
    copy = """
    cp.async.ca.shared.global [%r1], [%rd3], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r1+1024], [%rd3], 4;
    cp.async.commit_group;
    """
    wait = "cp.async.wait_group 1;\nld.shared.u32 %r9, [%r1];\ncp.async.wait_group 0;\nst.shared.u32 [%r1], %r9;"
    assert (copied(4, copy, wait=wait, **schedule).ravel() == np.arange(1, 257).astype(np.uint8)).all()


ARRIVE = """
setp.ne.u32 %p1, %r0, 0;
@!%p1 mbarrier.init.shared.b64 [bar], {count};
bar.sync 0;
cp.async.ca.shared.global [%r1], [%rd3], 4;
cp.async.mbarrier.arrive{noinc}.shared.b64 [bar];
{own}
WAIT:
mbarrier.{wait}.shared.b64 %p2, [bar], {phase};
@!%p2 bra WAIT;
"""


@each_schedule
@pytest.mark.parametrize(
    ("noinc", "own", "wait", "phase"),
    [
        ("", "mbarrier.arrive.shared.b64 %rd9, [bar];", "test_wait", "%rd9"),
        (".noinc", "", "try_wait.parity", "0"),
    ],
)
def test_an_mbarrier_hears_when_copies_have_landed(
    schedule: dict[str, Any], noinc: str, own: str, wait: str, phase: str
) -> None:
    copy = ARRIVE.format(count=64, noinc=noinc, own=own, wait=wait, phase=phase)
    found = copied(4, copy, wait="", **schedule)  # threads wait for the mbarrier, not for the async-groups
    assert (found.ravel() == np.arange(1, 257).astype(np.uint8)).all()


_WAIT_FOR_PHASE_0 = """
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra WAIT;
    """
_TELL_ANOTHER = """
    @!%p1 mbarrier.init.shared.b64 [other], 32;
    bar.sync 0;
    cp.async.mbarrier.arrive.noinc.shared.b64 [other];
    """


@each_schedule
def test_copies_whose_mbarrier_nobody_waits_for_are_found(schedule: dict[str, Any]) -> None:
    body = """
    setp.ne.u32 %p1, %r0, 0;
    @!%p1 mbarrier.init.shared.b64 [bar], 32;
    bar.sync 0;
    mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;
    cp.async.ca.shared.global [%r1], [%rd1], 4;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
    """
    before = ".shared .align 16 .b8 tile[128];\n.shared .align 8 .b64 bar, other;"
    (found,) = execute(body, np.ones(32, np.uint32), before=before, **schedule).findings
    assert found.rule == "unfinished-copy"
    assert "exits with cp.async copies outstanding" in found.message
    for seen in ("cp.async.wait_all;", _WAIT_FOR_PHASE_0, f"{_TELL_ANOTHER}{_WAIT_FOR_PHASE_0}"):
        assert not execute(body + seen, np.ones(32, np.uint32), before=before, **schedule).findings, seen
    late = "cp.async.ca.shared.global [%r1], [%rd1], 4;"  # a copy after cp.async.mbarrier.arrive is not tracked by it
    (found,) = execute(body + _WAIT_FOR_PHASE_0 + late, np.ones(32, np.uint32), before=before, **schedule).findings
    assert found.rule == "unfinished-copy"


def test_a_late_copy_is_not_seen_before_the_wait() -> None:
    body = f"""
    {ADDRESSES.format(size=4)}
    mov.u32 %r5, 0;
    st.shared.u32 [%r1], %r5;
    cp.async.ca.shared.global [%r1], [%rd3], 4;
    ld.shared.u32 %r5, [%r1];
    st.global.u32 [%rd1], %r5;
    cp.async.wait_all;
    """
    seen: dict[bool, Any] = {}
    for delay_async in (False, True):
        out, x = np.zeros(32, np.uint32), np.arange(1, 33, dtype=np.uint32)
        execute(body, out, x, parameters=PARAMETERS, before=BEFORE, checks="none", delay_async=delay_async)
        seen[delay_async] = out
    assert not seen[True].any()


def test_a_stray_source_is_named() -> None:
    body = ADDRESSES.format(size=16) + "cp.async.cg.shared.global [%r1], [%rd3], 16;\ncp.async.wait_all;"
    out, x = np.zeros(32, np.uint32), np.zeros(31 * 4, np.uint32)
    result = execute(body, out, x, parameters=PARAMETERS, before=BEFORE)
    (finding,) = result.findings
    assert finding.rule == "out-of-bounds"
    assert "after argument 1 'x'" in finding.message
    line = module(body, PARAMETERS, BEFORE).splitlines().index("cp.async.cg.shared.global [%r1], [%rd3], 16;") + 1
    assert finding.line == line
    with pytest.raises(MemoryFault, match="out-of-bounds"):
        run(module(body, PARAMETERS, BEFORE), grid=1, block=32, args=[out, x], checks="none")


def test_an_unaligned_part_of_a_source_is_misaligned() -> None:
    body = ADDRESSES.format(size=16) + "cp.async.ca.shared.global [%r1], [%rd3+4], 16, 8;\ncp.async.wait_all;"
    out, x = np.zeros(32, np.uint32), np.zeros(33 * 4, np.uint32)
    result = execute(body, out, x, parameters=PARAMETERS, before=BEFORE)
    assert [finding.rule for finding in result.findings] == ["misaligned"]
