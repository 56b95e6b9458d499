"""Kernels for behavior that the PTX manual leaves open; their results are recorded on hardware (see golden.py).

- `wgmma`: registers of an outstanding MMA are overwritten. ptxas does not insert a wait (docs/hopper.md), so whether
  the MMA reads the new values depends on the hardware. Manual: "wgmma.wait_group".
- `griddepcontrol`: whether `griddepcontrol.wait` also waits for grids earlier than the prerequisite grid. Manual:
  "griddepcontrol".
- `shfl.sync`, `vote.sync`, `match.sync`: the value from a lane that has exited, is not in the membermask or was never
  launched. Manual: "shfl.sync": unpredictable, "for an inactive thread, or one not in membermask".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHAINS", "QUESTIONS", "Chain", "Question"]

TURNS = 8
BLOCKS = 264  # number of CTAs of a launch: two for each of 132 SMs
N = 64
LANES = 32
UNWRITTEN = 0xDEADBEEF


@dataclass(frozen=True)
class Question:
    """A kernel `probe`; its parameters are pointers to the inputs and the output, whose words start as `UNWRITTEN`.

    `defined` marks the words of the output that the manual defines; they must equal `expected`. `faulty` is the rule of
    the error that the simulator must report, if any. `once`: words may differ between runs, so the record is only
    whether any CTA was right and whether any was wrong.
    """

    name: str
    target: str
    text: str
    grid: int
    block: int
    inputs: tuple[np.ndarray, ...]
    expected: np.ndarray
    defined: np.ndarray
    faulty: str = ""
    once: bool = False

    def empty(self) -> np.ndarray:
        """Return an output array whose words are `UNWRITTEN`."""
        return np.full(self.expected.shape, UNWRITTEN, np.uint32)

    def recorded(self, results: list[np.ndarray]) -> np.ndarray:
        """Return the value to record, from the outputs of several runs: the first, or if `once`, two flags."""
        if not self.once:
            return results[0]
        right = np.array([(result == self.expected).reshape(self.grid, -1).all(axis=1) for result in results])
        return np.array([right.any(), (~right).any()], np.uint8)


# --- registers of outstanding MMAs -------------------------------------------------------------------------------

PRODUCTS = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry probe(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)
.maxntid 128
{
.reg .b32 %r<16>;
.reg .b32 %a<8>;
.reg .b64 %rd<16>;
.reg .f32 %f<40>;
.reg .pred %p<4>;
.shared .align 1024 .b8 zeros[2048];
.shared .align 1024 .b8 right[2048];
.shared .align 16 .b8 left[FRAGMENTS];
.shared .align 16 .b8 starts[FRAGMENTS];
ld.param.u64 %rd1, [p3];
ld.param.u64 %rd2, [p0];
ld.param.u64 %rd3, [p1];
ld.param.u64 %rd4, [p2];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r3, %r2, 128, %r1;
mad.wide.u32 %rd1, %r3, 128, %rd1;
mul.wide.u32 %rd5, %r1, 16;
add.u64 %rd2, %rd2, %rd5;
add.u64 %rd3, %rd3, %rd5;
add.u64 %rd4, %rd4, %rd5;
mov.u32 %r4, zeros;
mov.u32 %r5, right;
mov.u32 %r6, left;
mov.u32 %r7, starts;
shl.b32 %r8, %r1, 4;
add.u32 %r9, %r4, %r8;
mov.u32 %r10, 0;
st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10};
add.u32 %r9, %r5, %r8;
ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%rd3];
st.shared.v4.u32 [%r9], {%a0, %a1, %a2, %a3};
add.u32 %r6, %r6, %r8;
add.u32 %r7, %r7, %r8;
FILL
fence.proxy.async.shared::cta;
bar.sync 0;
bfe.u32 %r4, %r4, 4, 14;
cvt.u64.u32 %rd6, %r4;
or.b64 %rd6, %rd6, 0x0000001000080000;
bfe.u32 %r5, %r5, 4, 14;
cvt.u64.u32 %rd7, %r5;
or.b64 %rd7, %rd7, 0x0000001000080000;
CLEAR
mov.u32 %r11, 0;
LOOP:
.pragma "nounroll";
BODY
add.u32 %r6, %r6, 2048;
add.u32 %r7, %r7, 2048;
add.u32 %r11, %r11, 1;
setp.lt.u32 %p1, %r11, TURNS;
@%p1 bra LOOP;
wgmma.wait_group.sync.aligned 0;
STORE
ret;
}
"""
SUMS = tuple(f"%f{i}" for i in range(N // 2))
FENCE, COMMIT, WAIT = (
    "wgmma.fence.sync.aligned;",
    "wgmma.commit_group.sync.aligned;",
    "wgmma.wait_group.sync.aligned 0;",
)
LOAD = "ld.shared.v4.u32 {%a0, %a1, %a2, %a3}, [%r6];"
START = "ld.shared.v4.f32 {%f28, %f29, %f30, %f31}, [%r7];"
WORDS = f"wgmma.mma_async.sync.aligned.m64n{N}k16.f32.bf16.bf16 {{{', '.join(SUMS)}}}"
# MMAs with operands of zeros keep the tensor core busy, so that the last MMA reads its operands late.
BUSY = "\n".join([f"{WORDS}, %rd6, %rd7, 1, 1, 1, 0, 0;"] * 8)
MULTIPLY = f"{FENCE}\n{BUSY}\n{WORDS}, {{%a0, %a1, %a2, %a3}}, %rd7, 1, 1, 1, 0;\n{COMMIT}"


def _products() -> Iterator[Question]:
    rng = np.random.default_rng(4)
    a = rng.integers(-8, 8, (TURNS, 128, 8)).astype(ml_dtypes.bfloat16)
    starts = rng.integers(1, 99, (TURNS, 128, 4)).astype(np.float32)
    columns = np.repeat(np.arange(1, 9).astype(ml_dtypes.bfloat16), 8).view(np.uint32).reshape(8, 4)
    right = np.tile(columns, (2 * N // 8, 1))  # B in core matrices of 8 rows; every element of row i is i + 1
    given = a.view(np.uint32), right, starts.view(np.uint32)
    dealt = np.array([_dealt(each) for each in a])
    total, last = dealt.sum(axis=0), dealt[-1]
    restarted = total.copy()
    restarted[:, 28:] = last[:, 28:] + starts[-1]
    bodies = {
        "operand A loaded before the wait": ((LOAD, MULTIPLY), total, "wgmma-register-before-wait"),
        "operand A loaded after the wait": ((LOAD, MULTIPLY, WAIT), total, ""),
        "operand A read before the wait": ((LOAD, MULTIPLY, "xor.b32 %r12, %r12, %a0;", WAIT), total, ""),
        "accumulators loaded before the wait": ((START, LOAD, WAIT, MULTIPLY), restarted, "wgmma-register-before-wait"),
        "accumulators loaded after the wait": ((WAIT, START, LOAD, MULTIPLY), restarted, ""),
    }
    for name, (body, sums, rule) in bodies.items():
        expected = np.tile(sums.astype(np.float32).view(np.uint32), (BLOCKS, 1, 1))
        yield Question(
            f"wgmma: {name}", "sm_90a", _product_text(body), BLOCKS, 128, given, expected,
            np.full(expected.shape, not rule), rule, once=True,
        )  # fmt: skip


def _product_text(body: tuple[str, ...]) -> str:
    fill = "\n".join(
        f"ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [{source}+{2048 * turn}];\n"
        f"st.shared.v4.u32 [{into}+{2048 * turn}], {{%a0, %a1, %a2, %a3}};"
        for turn in range(TURNS)
        for source, into in (("%rd2", "%r6"), ("%rd4", "%r7"))
    )
    clear = "mov.u32 %r12, 0;\n" + "\n".join(f"mov.f32 {each}, 0f00000000;" for each in SUMS)
    store = "\n".join(
        f"st.global.v4.f32 [%rd1+{4 * first}], {{{', '.join(SUMS[first : first + 4])}}};"
        for first in range(0, N // 2, 4)
    )
    text = PRODUCTS.replace("FRAGMENTS", str(2048 * TURNS)).replace("TURNS", str(TURNS)).replace("FILL", fill)
    return text.replace("CLEAR", clear).replace("BODY", "\n".join(body)).replace("STORE", store)


def _dealt(fragments: np.ndarray) -> np.ndarray:
    """Return the accumulators of each thread, `[128, N / 2]`; all elements of a row of B are equal."""
    sums = fragments.astype(np.float64).reshape(LANES, 4, 4, 2).sum(axis=(1, 3))  # a quad (4 lanes) has two rows of A
    rows = sums[:, :2] + sums[:, 2:]
    columns = np.arange(1, 9).reshape(4, 1, 2)
    return np.tile((rows[:, None, :, None] * columns).reshape(128, 4), (1, N // 8))


# --- absent lanes ------------------------------------------------------------------------------------------------

SHUFFLES = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry probe(.param .u64 p0)
{
.reg .b32 %r<16>;
.reg .b64 %rd<4>;
.reg .pred %p<4>;
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 8;
add.u64 %rd1, %rd1, %rd2;
mov.u32 %r2, %laneid;
add.u32 %r3, %r2, 1000;
mov.u32 %r4, 0;
setp.eq.u32 %p0, 0, 1;
BODY
st.global.u32 [%rd1], %r4;
selp.u32 %r5, 1, 0, %p0;
st.global.u32 [%rd1+4], %r5;
DONE:
ret;
}
"""
ALL, HALF = 0xFFFFFFFF, 0x0000FFFF
EXIT, APART = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra DONE;\n", "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra OTHERS;\n"


def _shuffles() -> Iterator[Question]:
    forms = {
        "shfl.sync.bfly": "shfl.sync.bfly.b32 %r4|%p0, %r3, 16, 0x1f, MASK;",
        "shfl.sync.down": "shfl.sync.down.b32 %r4|%p0, %r3, 8, 0x1f, MASK;",
        "shfl.sync.idx": "shfl.sync.idx.b32 %r4|%p0, %r3, 20, 0x1f, MASK;",
        "vote.sync.ballot": "vote.sync.ballot.b32 %r4, 1, MASK;",
        "vote.sync.all": "vote.sync.all.pred %p0, 1, MASK;",
        "redux.sync.add": "redux.sync.add.s32 %r4, %r3, MASK;",
        "match.any.sync": "match.any.sync.b32 %r4, 7, MASK;",
    }
    situations = {
        "exited": (ALL, EXIT, "", 32),
        "outside the membermask": (HALF, APART, "OTHERS:\n", 32),
        "never launched": (ALL, "", "", 16),
    }
    for form, code in forms.items():
        for situation, (mask, before, after, block) in situations.items():
            body = f"{before}{code.replace('MASK', hex(mask))}\n{after}"
            expected = np.full((block, 2), UNWRITTEN, np.uint32)
            yield Question(
                f"{form}: lanes {situation}", "sm_90", SHUFFLES.replace("BODY", body), 1, block, (), expected,
                np.zeros(expected.shape, np.bool_),
            )  # fmt: skip


QUESTIONS = {each.name: each for each in (*_products(), *_shuffles())}


# --- chains of grids -----------------------------------------------------------------------------------------------

CHAIN = """\
.version 8.6
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p0, .param .u64 p1)
{
.reg .b64 %rd<8>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p0];
griddepcontrol.launch_dependents;
mov.u64 %rd2, %globaltimer;
add.u64 %rd3, %rd2, 3000000;
SPIN:
mov.u64 %rd4, %globaltimer;
setp.lt.u64 %p0, %rd4, %rd3;
@%p0 bra SPIN;
st.global.u32 [%rd1], 1;
ret;
}
.visible .entry second(.param .u64 p0, .param .u64 p1)
{
SECOND
ret;
}
.visible .entry third(.param .u64 p0, .param .u64 p1)
{
.reg .b64 %rd<4>;
.reg .b32 %r<2>;
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
THIRD
ld.relaxed.gpu.global.u32 %r0, [%rd1];
st.global.u32 [%rd2], %r0;
ret;
}
"""
LAUNCHES, DEPENDS = "griddepcontrol.launch_dependents;", "griddepcontrol.wait;"


@dataclass(frozen=True)
class Chain:
    """Three grids on one stream; the later two are programmatic dependents.

    `first` triggers immediately, spins for 3 ms and stores 1. The record is the word that `third` reads, 0 or 1.
    """

    name: str
    text: str
    entries: tuple[str, ...] = ("first", "second", "third")


CHAINS = {
    f"griddepcontrol: {name}": Chain(f"griddepcontrol: {name}", CHAIN.replace("SECOND", second).replace("THIRD", third))
    for name, second, third in (
        ("only the third grid waits", LAUNCHES, DEPENDS),
        ("the second grid waits before its end", f"{LAUNCHES}\n{DEPENDS}", DEPENDS),
        ("the second grid waits before it triggers", f"{DEPENDS}\n{LAUNCHES}", ""),
        ("the second grid neither waits nor triggers", "", DEPENDS),
        ("no grid waits", LAUNCHES, ""),
    )
}
