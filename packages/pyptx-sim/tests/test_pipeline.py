"""Pipeline of a producer and four consumer warps over stages of shared memory: correct, and with one injected fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_ir.plugins.rows import TensorMap
from pyptx_sim import Finding, WithDescriptor, run

from .test_async_copy import each_schedule

pytestmark = pytest.mark.hopper

STAGES, STEPS, BLOCKS = 3, 8, 2
BOX = (16, 64)  # rows and columns of an f32 tile in a pipeline stage: 4096 bytes
INIT = "".join(
    f"mbarrier.init.shared.b64 [full+{8 * stage}], 1;\nmbarrier.init.shared.b64 [empty+{8 * stage}], 4;\n"
    for stage in range(STAGES)
)
ADD = "".join(
    f"ld.shared.v4.f32 {{%f2, %f3, %f4, %f5}}, [%r17+{2048 * part}];\n"
    + "".join(f"add.f32 %f1, %f1, %f{value};\n" for value in range(2, 6))
    for part in range(2)
)
PTX = f"""\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .align 64 .b8 m[128])
{{
.reg .pred %p<9>;
.reg .b32 %r<40>;
.reg .b64 %rd<20>;
.reg .f32 %f<10>;
.shared .align 1024 .b8 s[{STAGES * 4096}];
.shared .align 8 .b64 full[{STAGES}];
.shared .align 8 .b64 empty[{STAGES}];
ld.param.u64 %rd1, [out];
mov.b64 %rd3, m;
cvta.param.u64 %rd3, %rd3;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
shr.u32 %r3, %r1, 5;
and.b32 %r4, %r1, 31;
mov.u32 %r5, s;
mov.u32 %r6, full;
mov.u32 %r7, empty;
setp.ne.u32 %p0, %r1, 0;
@%p0 bra READY;
{INIT}fence.mbarrier_init.release.cluster;
READY:
bar.sync 0;
mov.u32 %r10, 0;
mov.u32 %r11, 0;
mov.u32 %r12, 0;
mov.u32 %r13, 1;
setp.ne.u32 %p1, %r3, 0;
@%p1 bra CONSUME;
setp.ne.u32 %p2, %r4, 0;
@%p2 bra END;
PRODUCE:
shl.b32 %r14, %r10, 3;
add.u32 %r15, %r7, %r14;
add.u32 %r16, %r6, %r14;
FREE:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r15], %r13;
@!%p3 bra FREE;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r16], 4096;
shl.b32 %r17, %r10, 12;
add.u32 %r17, %r5, %r17;
shl.b32 %r18, %r12, 6;
shl.b32 %r19, %r2, 4;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r17], [%rd3, {{%r18, %r19}}], [%r16];
add.u32 %r10, %r10, 1;
setp.eq.u32 %p4, %r10, {STAGES};
@%p4 mov.u32 %r10, 0;
@%p4 xor.b32 %r13, %r13, 1;
add.u32 %r12, %r12, 1;
setp.lt.u32 %p5, %r12, {STEPS};
@%p5 bra PRODUCE;
bra END;
CONSUME:
mov.f32 %f1, 0f00000000;
sub.u32 %r20, %r1, 32;
NEXT:
shl.b32 %r14, %r10, 3;
add.u32 %r15, %r7, %r14;
add.u32 %r16, %r6, %r14;
FILLED:
mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r16], %r11;
@!%p3 bra FILLED;
shl.b32 %r17, %r10, 12;
add.u32 %r17, %r5, %r17;
shl.b32 %r21, %r20, 4;
add.u32 %r17, %r17, %r21;
{ADD}bar.warp.sync -1;
setp.eq.u32 %p6, %r4, 0;
@%p6 mbarrier.arrive.shared::cta.b64 _, [%r15];
add.u32 %r10, %r10, 1;
setp.eq.u32 %p4, %r10, {STAGES};
@%p4 mov.u32 %r10, 0;
@%p4 xor.b32 %r11, %r11, 1;
add.u32 %r12, %r12, 1;
setp.lt.u32 %p5, %r12, {STEPS};
@%p5 bra NEXT;
mad.lo.u32 %r22, %r2, 128, %r20;
mad.wide.u32 %rd4, %r22, 4, %rd1;
st.global.f32 [%rd4], %f1;
END:
ret;
}}
"""


def launched(text: str, **schedule: Any) -> tuple[bool, tuple[Finding, ...]]:
    """Run the pipeline kernel; return whether the output is correct, and the findings."""
    x = np.random.default_rng(0).integers(-4, 4, (BOX[0] * BLOCKS, BOX[1] * STEPS)).astype(np.float32)
    out = np.zeros((BLOCKS, 128), np.float32)
    described = TensorMap("f32", x.shape, x.strides, BOX, (1, 1))
    result = run(text, grid=BLOCKS, block=160, args=[out, WithDescriptor(x, described)], **schedule)
    boxes = x.reshape(BLOCKS, BOX[0], STEPS, BOX[1]).transpose(0, 2, 1, 3)
    right = bool((out == boxes.reshape(BLOCKS, STEPS, 2, 128, 4).sum((1, 2, 4))).all())
    return right, result.findings


def outcome(text: str, **schedule: Any) -> tuple[bool, set[str]]:
    """Run the pipeline kernel; return whether the output is correct, and the rules of the findings."""
    right, findings = launched(text, **schedule)
    return right, {finding.rule for finding in findings}


@each_schedule
def test_the_pipeline_is_right_and_clean(schedule: dict[str, Any]) -> None:
    assert outcome(PTX, **schedule) == (True, set())
    assert outcome(PTX, checks="none", **schedule) == (True, set())


def waiting(label: str, barrier: str, parity: str) -> str:
    """Return the PTX lines of the kernel that wait at an mbarrier."""
    return f"{label}:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [{barrier}], {parity};\n@!%p3 bra {label};\n"


PLACE = "shl.b32 %r17, %r10, 12;\nadd.u32 %r17, %r5, %r17;\nshl.b32 %r18"
# Fault -> lines of the kernel, their replacement, and rules, one of which reports the fault under every schedule.
BROKEN = {
    "the producer does not wait for a free stage": (
        waiting("FREE", "%r15", "%r13"),
        "",
        "early-reuse read-before-wait",
    ),
    "the consumers do not wait for a full stage": (
        waiting("FILLED", "%r16", "%r11"),
        "",
        "read-before-wait uninitialized-memory",
    ),
    "the consumers begin with the wrong parity": ("mov.u32 %r11, 0;", "mov.u32 %r11, 1;", "read-before-wait deadlock"),
    "the producer begins with the wrong parity": ("mov.u32 %r13, 1;", "mov.u32 %r13, 0;", "deadlock"),
    "the consumers never free a stage": ("@%p6 mbarrier.arrive.shared::cta.b64 _, [%r15];", "", "deadlock"),
    "every lane frees a stage": ("@%p6 mbarrier.arrive", "mbarrier.arrive", "mbarrier-phase"),
    "the arrival of one consumer frees a stage": (
        ".b64 [empty+0], 4;",
        ".b64 [empty+0], 1;",
        "mbarrier-phase early-reuse",
    ),
    "the arrival count includes a fifth consumer": (".b64 [empty+8], 4;", ".b64 [empty+8], 5;", "deadlock"),
    "half of the bytes are expected": ("[%r16], 4096;", "[%r16], 2048;", "deadlock"),
    "the stages overlap": (PLACE, PLACE.replace("12", "11"), "early-reuse read-before-wait"),
}


@each_schedule
@pytest.mark.parametrize("what", list(BROKEN))
def test_what_is_broken_is_found(schedule: dict[str, Any], what: str) -> None:
    old, new, rules = BROKEN[what]
    assert PTX.count(old) == 1
    assert not outcome(PTX.replace(old, new), **schedule)[1].isdisjoint(rules.split())


ONCE = "the wait (line {}) returned immediately"


def line_of_wait(text: str) -> int:
    """Return the line number of the consumers' wait."""
    return 1 + next(i for i, line in enumerate(text.splitlines()) if "try_wait" in line and "[%r16]" in line)


@each_schedule
def test_a_wait_that_begins_with_the_wrong_parity_is_named(schedule: dict[str, Any]) -> None:
    text = PTX.replace("mov.u32 %r11, 0;", "mov.u32 %r11, 1;")
    messages = [note for finding in launched(text, **schedule)[1] for note in finding.notes]
    assert messages
    named = [message for message in messages if ONCE.format(line_of_wait(text)) in message]
    assert all("parity 1 denotes the phase before the first one" in message for message in named)
    assert named


@pytest.mark.long
def test_a_wait_whose_parity_does_not_flip_is_named() -> None:
    old = "@%p4 xor.b32 %r11, %r11, 1;"
    assert PTX.count(old) == 1
    text = PTX.replace(old, "")
    schedules: list[dict[str, Any]] = [{"delay_async": True}, *({"seed": seed} for seed in range(1, 7))]
    findings = (finding for schedule in schedules for finding in launched(text, **schedule)[1])
    reads = [each for each in findings if each.rule == "read-before-wait" and each.message.startswith("read of")]
    assert len(reads) > 1  # findings at reads by consumer warps; the other findings are at writes by the producer warp
    why = "the warp had already observed phase 0 complete; flip the parity after each wait"
    assert all(each.notes == (f"{ONCE.format(line_of_wait(text))}: {why}",) for each in reads)


def test_a_wait_that_is_missing_is_not_taken_for_one_with_the_wrong_parity() -> None:
    faulty = PTX.replace(waiting("FILLED", "%r16", "%r11"), "")
    for schedule in ({}, {"seed": 1}, {"delay_async": True}):
        messages = [finding.message for finding in launched(faulty, **schedule)[1]]
        assert not any("returned at once" in message for message in messages if " reads " in message)


SPLIT = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.shared .align 16 .b8 s[256];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, s;
mad.lo.u32 %r3, %r1, 4, %r2;
mov.u32 %r4, %ctaid.x;
add.u32 %r4, %r4, %r1;
st.shared.u32 [%r3], %r4;
fence.proxy.async.shared::cta;
bar.sync 0;
setp.eq.u32 %p1, %r1, 0;
@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 256;
@%p1 cp.async.bulk.commit_group;
@%p1 cp.async.bulk.wait_group 0;
ret;
}
"""


@each_schedule
def test_reductions_of_many_blocks_may_meet(schedule: dict[str, Any]) -> None:
    out = np.zeros(64, np.uint32)
    result = run(SPLIT, grid=8, block=64, args=[out], **schedule)
    assert [str(finding) for finding in result.findings] == []
    assert (out == 28 + 8 * np.arange(64)).all()
