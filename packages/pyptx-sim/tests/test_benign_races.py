"""Findings of benign races in compiled code are notes, for all data; each race has a variant that is an error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Launch, run
from pyptx_sim.command import run as command
from pyptx_sim.duplicates.samples import Samples

from .ptx_text import execute, module

pytestmark = pytest.mark.scaled(2)

# Runs of each kernel: kind of input data, and schedule.
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("zeros", {}),
    ("zeros", {"seed": 1}),
    ("ones", {"seed": 2, "delay_async": True}),
    ("random", {"seed": 3}),
)
WORDS = 256


def data(kind: str) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return an array of 64 words for output, followed by words of input."""
    floats = {
        "zeros": np.zeros(WORDS),
        "ones": np.ones(WORDS),
        "random": np.random.default_rng(7).standard_normal(WORDS),
    }
    words = floats[kind].astype(np.float32).view(np.uint32).copy()
    words[64:96] = (
        np.random.default_rng(1).standard_normal(32).astype(np.float32).view(np.uint32)
        if kind == "random"
        else words[64:96]
    )
    words[:64] = 0
    return words


@dataclass(frozen=True, slots=True)
class Twins:
    """A kernel body, two texts for its `FAULT` that make its race benign or an error, and its launch configuration."""

    body: str
    benign: str
    racy: str
    grid: int = 1
    block: int = 64
    before: str = ""

    def severities(self, part: str, words: Any, **schedule: Any) -> set[str]:
        """Run the kernel body with `part` in place of `FAULT`; return the severities of the findings."""
        body = self.body.replace("FAULT", part)
        shape = {"grid": self.grid, "block": self.block, "before": self.before}
        found = execute(body, words, **shape, **schedule).findings
        assert all(each.rule in {"lane-race", "global-race", "shared-race"} for each in found)
        return {each.severity for each in found}


BUTTERFLY = "".join(
    f"shfl.sync.bfly.b32 %f2, %f1, {step}, 31, -1;\nadd.f32 %f1, %f1, %f2;\n" for step in (1, 2, 4, 8, 16)
)
LARGEST = "".join(
    f"shfl.sync.bfly.b32 %f2, %f1, {step}, 31, -1;\nsetp.gt.f32 %p1, %f1, %f2;\nselp.f32 %f1, %f1, %f2, %p1;\n"
    for step in (1, 2, 4, 8, 16)
)
# The index of the largest element, the smaller index for equal ones; and a maximum that propagates NaN.
LARGEST_AT = "mov.u32 %r3, %r0;\n" + "".join(
    f"shfl.sync.bfly.b32 %f2, %f1, {step}, 31, -1;\nshfl.sync.bfly.b32 %r4, %r3, {step}, 31, -1;\n"
    "setp.eq.f32 %p1, %f1, %f2;\nsetp.lt.u32 %p2, %r3, %r4;\nand.pred %p1, %p1, %p2;\n"
    "setp.gt.f32 %p2, %f1, %f2;\nor.pred %p1, %p1, %p2;\n"
    "selp.f32 %f1, %f1, %f2, %p1;\nselp.u32 %r3, %r3, %r4, %p1;\n"
    for step in (1, 2, 4, 8, 16)
)
LARGEST_OR_NAN = LARGEST.replace(
    "selp.f32 %f1, %f1, %f2, %p1;", "setp.nan.f32 %p2, %f1, %f1;\nor.pred %p1, %p1, %p2;\nselp.f32 %f1, %f1, %f2, %p1;"
)
# The index of the larger of two lanes' elements, the smaller index for equal ones.
LARGER_AT = LARGEST_AT[: LARGEST_AT.index("shfl", LARGEST_AT.index("selp"))].replace("%f1, 1, 31", "%f1, FAULT, 31")
LARGER_AT = LARGER_AT.replace("%r3, 1, 31", "%r3, FAULT, 31")
PAIRS = {
    "two elements": "",
    "an element and a constant": "setp.ge.u32 %p3, %r0, 13;\n@%p3 mov.f32 %f1, 0f00000000;\n",
    "two constants": "setp.ge.u32 %p3, %r0, 12;\n@%p3 mov.f32 %f1, 0f00000000;\n",
    "two numbers below a constant": "sin.approx.f32 %f1, %f1;\nsetp.gt.f32 %p3, %f1, 0f40000000;\n"
    "selp.f32 %f1, 0f00000000, %f1, %p3;\n",
    "numbers of which one is at most 0": "abs.f32 %f1, %f1;\nsetp.ge.u32 %p3, %r0, 13;\n@%p3 neg.f32 %f1, %f1;\n",
    "two quotients": "ex2.approx.f32 %f1, %f1;\nshfl.sync.bfly.b32 %f2, %f1, 16, 31, -1;\nadd.f32 %f2, %f1, %f2;\n"
    "div.rn.f32 %f1, %f1, %f2;\n",
}
# What no random input decides otherwise: %r1 is never 2000000000, nor above it. Only threads with %p2 decide so.
DECISIONS = {
    "an equality": "setp.eq.u32 %p1, %r1, %r4;\nand.pred %p1, %p1, %p2;\nselp.u32 %r2, 7, %r1, %p1;",
    "an equality below a bound": "setp.eq.u32 %p1, %r1, %r4;\nand.pred %p1, %p1, %p2;\nselp.u32 %r2, 7, %r1, %p1;\n"
    "min.u32 %r2, %r2, 0xFFFFFFFF;",
    "a guarded equality": "setp.ne.u32 %p1, %r1, %r1;\n@%p2 setp.eq.u32 %p1, %r1, %r4;\nselp.u32 %r2, 7, %r1, %p1;",
    "an equality combined with a predicate": "setp.eq.and.u32 %p1, %r1, %r4, %p2;\nselp.u32 %r2, 7, %r1, %p1;",
    "an inequality": "not.pred %p2, %p2;\nsetp.ne.u32 %p1, %r1, %r4;\nor.pred %p1, %p1, %p2;\n"
    "selp.u32 %r2, %r1, 7, %p1;",
    "a truth value in a register": "set.eq.u32.u32 %r2, %r1, %r4;\nselp.u32 %r2, %r2, 0, %p2;\nadd.u32 %r2, %r2, %r1;",
    "a minimum": "min.u32 %r2, %r1, %r4;\nselp.u32 %r2, %r2, %r1, %p2;",
    "a maximum of negated numbers": "neg.s32 %r2, %r1;\nneg.s32 %r3, %r4;\nmax.s32 %r2, %r2, %r3;\nneg.s32 %r2, %r2;\n"
    "selp.u32 %r2, %r2, %r1, %p2;",
    "a sign": "shr.u32 %r3, %r1, 1;\nslct.u32.s32 %r2, %r1, 7, %r3;\nselp.u32 %r2, %r2, %r1, %p2;",
}
OF_THREAD, OF_ALL = "[%rd1+256]", "[%rd0+256]"
STORE = "st.global.u32 [%rd0], %r2;"
SHARED = ".shared .align 4 .b8 s[1024];"
LOOP = """
FAULT
mov.f32 %f1, 0f00000000;
AGAIN:
mad.wide.u32 %rd2, %r3, 4, %rd0;
ld.global.f32 %f2, [%rd2+256];
add.f32 %f1, %f1, %f2;
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, 64;
@%p1 bra AGAIN;
st.global.f32 [%rd0], %f1;
"""
# PTX that loads an element and sets %p1 if it is positive, for tests of each kind of control flow.
PARITY = "ld.global.u32 %r1, FAULT;\nsetp.gt.s32 %p1, %r1, 0;\n"

STORES = {
    "a constant": Twins("FAULT\nst.global.u32 [%rd0], %r2;", "mov.u32 %r2, 7;", "mov.u32 %r2, %ctaid.x;", grid=2),
    "one element": Twins(f"ld.global.u32 %r2, FAULT;\n{STORE}", OF_ALL, OF_THREAD, grid=2),
    "an element that two lanes load": Twins(
        "and.b32 %r3, %r0, 15;\nmad.wide.u32 %rd2, %r3, 4, %rd0;\nld.global.f32 %f1, FAULT;\n"
        "ex2.approx.f32 %f1, %f1;\nst.global.f32 [%rd2], %f1;",
        "[%rd2+256]",
        OF_THREAD,
        grid=2,
    ),
    "a vector": Twins(
        f"ld.global.u32 %r1, {OF_ALL};\nld.global.u32 %r2, FAULT;\nst.global.v2.u32 [%rd0], {{%r1, %r2}};",
        OF_ALL,
        OF_THREAD,
        grid=2,
    ),
    "an address that depends on data": Twins(
        f"ld.global.u32 %r1, FAULT;\nand.b32 %r1, %r1, 31;\nmad.wide.u32 %rd2, %r1, 4, %rd0;\n"
        f"ld.global.u32 %r2, [%rd2+512];\n{STORE}",
        OF_ALL,
        OF_THREAD,
        grid=2,
    ),
    "a selection": Twins(PARITY + "selp.u32 %r2, 1, 2, %p1;\n" + STORE, OF_ALL, OF_THREAD, grid=2),
    "a predicate": Twins(PARITY + "mov.u32 %r2, 1;\n@%p1 mov.u32 %r2, 2;\n" + STORE, OF_ALL, OF_THREAD, grid=2),
    "a branch": Twins(
        PARITY + "mov.u32 %r2, 1;\n@%p1 bra OTHER;\nmov.u32 %r2, 2;\nOTHER:\n" + STORE, OF_ALL, OF_THREAD, grid=2
    ),
    "a loop": Twins(LOOP, "mov.u32 %r3, 0;", "mov.u32 %r3, %r0;", grid=2),
    "a sum by a butterfly": Twins(
        f"ld.global.f32 %f1, {OF_THREAD};\nFAULT\nst.global.f32 [%rd0], %f1;",
        BUTTERFLY,
        BUTTERFLY.replace(" 16, 31", " 8, 31"),
        grid=2,
        block=32,
    ),
    "a maximum by a butterfly with selp": Twins(
        f"ld.global.f32 %f1, {OF_THREAD};\nFAULT\nst.global.f32 [%rd0], %f1;",
        LARGEST,
        LARGEST.replace(" 16, 31", " 8, 31"),
        block=32,
    ),
    "the index of a maximum by a butterfly": Twins(
        f"ld.global.f32 %f1, {OF_THREAD};\nFAULT\nst.global.u32 [%rd0], %r3;",
        LARGEST_AT,
        LARGEST_AT.replace(" 16, 31", " 8, 31"),
        block=32,
    ),
    "a maximum by a butterfly that propagates NaN": Twins(
        f"ld.global.f32 %f1, {OF_THREAD};\nFAULT\nst.global.f32 [%rd0], %f1;",
        LARGEST_OR_NAN,
        LARGEST_OR_NAN.replace(" 16, 31", " 8, 31"),
        block=32,
    ),
    **{
        f"the index of the larger of {name}": Twins(
            f"ld.global.f32 %f1, {OF_THREAD};\n{first}{LARGER_AT}shr.u32 %r4, %r0, 1;\n"
            "mad.wide.u32 %rd2, %r4, 4, %rd0;\nst.global.u32 [%rd2], %r3;",
            "1",
            "2",
            block=32,
        )
        for name, first in PAIRS.items()
    },
    "the index of the larger element, by an XOR": Twins(
        f"ld.global.f32 %f1, {OF_THREAD};\nld.global.u32 %r5, {OF_THREAD};\n{LARGER_AT}"
        "shfl.sync.bfly.b32 %r2, %r5, FAULT, 31, -1;\nxor.b32 %r5, %r5, %r3;\nxor.b32 %r2, %r2, %r5;\n"
        "shr.u32 %r3, %r0, 1;\nmad.wide.u32 %rd2, %r3, 4, %rd0;\nst.global.u32 [%rd2], %r2;",
        "1",
        "2",
        block=32,
    ),
    "a selection by an input that is never what it is compared with": Twins(
        f"ld.global.u32 %r1, FAULT;\nld.global.u32 %r2, {OF_ALL};\nsetp.eq.u32 %p1, %r1, 305419896;\n"
        f"selp.u32 %r2, 7, %r2, %p1;\n{STORE}",
        OF_ALL,
        OF_THREAD,
        grid=2,
    ),
    "a number that one thread adds to an input that is never what it is compared with": Twins(
        f"ld.global.u32 %r1, {OF_ALL};\nmov.u32 %r4, 305419896;\nsetp.eq.u32 %p1, %r1, %r4;\nFAULT\n"
        f"and.pred %p1, %p1, %p2;\nselp.u32 %r3, 1, 0, %p1;\nadd.u32 %r2, %r1, %r3;\n{STORE}",
        "setp.eq.u32 %p2, %r0, %r0;",
        "setp.eq.u32 %p2, %r0, 0;",
    ),
    **{
        f"a selection of {name}": Twins(
            f"ld.global.u32 %r1, {OF_ALL};\nld.global.u32 %r5, [%rd0+260];\nmov.u32 %r4, 1000000000;\n"
            "add.u32 %r4, %r4, %r4;\nFAULT\n"
            f"{decision}\nsetp.gt.s32 %p3, %r1, %r5;\nselp.u32 %r2, %r2, %r5, %p3;\n{STORE}",
            "setp.eq.u32 %p2, %r0, %r0;",
            "setp.eq.u32 %p2, %r0, 0;",
        )
        for name, decision in DECISIONS.items()
    },
    **{
        f"a choice that {name} never makes in a run": Twins(
            "mov.u32 %r3, %ctaid.x;\nmad.wide.u32 %rd2, %r3, 4, %rd0;\nld.global.u32 %r4, [%rd2+256];\n"
            "xor.b32 %r3, %r3, 1;\nmad.wide.u32 %rd2, %r3, 4, %rd0;\nld.global.u32 %r3, [%rd2+256];\n"
            "sub.u32 %r4, %r4, %r3;\n"
            f"ld.global.u32 %r1, {OF_ALL};\nld.global.u32 %r5, [%rd0+260];\n{other}\n"
            "setp.eq.u32 %p1, %r1, %r5;\nselp.u32 %r2, FAULT, %r1, %p1;\nld.global.u32 %r3, [%rd0+264];\n"
            f"setp.gt.s32 %p3, %r2, %r3;\nselp.u32 %r2, %r2, %r3, %p3;\n{STORE}",
            "7",
            "%r4",
            grid=2,
        )
        for name, other in {
            "a computed constant": "mov.u32 %r5, 1000000000;\nmul.lo.u32 %r5, %r5, 3;",
            "an equality": "xor.b32 %r5, %r5, 0x12345678;",
        }.items()
    },
    "a limit that one thread applies": Twins(
        f"ld.global.f32 %f1, {OF_ALL};\nsetp.gt.f32 %p1, %f1, 0f7149F2CA;\nFAULT\nand.pred %p1, %p1, %p2;\n"
        "selp.f32 %f1, 0f7149F2CA, %f1, %p1;\nst.global.f32 [%rd0], %f1;",
        "setp.eq.u32 %p2, %r0, %r0;",
        "setp.eq.u32 %p2, %r0, 0;",
    ),
    "a constant that one thread selects": Twins(
        f"ld.global.f32 %f1, {OF_ALL};\nsetp.gt.f32 %p1, %f1, 0f7149F2CA;\nFAULT\nand.pred %p1, %p1, %p2;\n"
        f"selp.u32 %r2, 1, 2, %p1;\n{STORE}",
        "setp.eq.u32 %p2, %r0, %r0;",
        "setp.eq.u32 %p2, %r0, 0;",
    ),
    "a guard by an input that is never what it is compared with": Twins(
        f"ld.global.u32 %r1, FAULT;\nmov.u32 %r2, 3;\nsetp.eq.u32 %p1, %r1, 305419896;\n@%p1 mov.u32 %r2, 7;\n{STORE}",
        OF_ALL,
        OF_THREAD,
        grid=2,
    ),
    "a sum of doubles by a butterfly of 32-bit halves": Twins(
        "mad.wide.u32 %rd3, %r0, 8, %rd0;\nld.global.f64 %fd1, [%rd3+256];\nmov.b64 {%r1, %r2}, %fd1;\n"
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nshfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;\n"
        "mov.b64 %fd2, {%r3, %r4};\nadd.f64 %fd1, %fd1, %fd2;\nshr.u32 %r5, %r0, FAULT;\n"
        "mad.wide.u32 %rd2, %r5, 8, %rd0;\nst.global.f64 [%rd2], %fd1;",
        "1",
        "2",
        grid=2,
        block=32,
    ),
    "a vote": Twins(
        "mov.u32 %r3, %ctaid.x;\nmad.wide.u32 %rd2, %r3, 4, %rd0;\nld.global.u32 %r1, FAULT;\n"
        "setp.ne.u32 %p1, %r1, 0;\nvote.sync.ballot.b32 %r2, %p1, -1;\n" + STORE,
        OF_ALL,
        "[%rd2+256]",
        grid=2,
        block=32,
    ),
    "shared memory": Twins(
        f"mov.u32 %r3, s;\nshl.b32 %r4, %r0, 2;\nadd.u32 %r4, %r4, %r3;\nld.global.u32 %r1, {OF_THREAD};\n"
        f"st.shared.u32 [%r4], %r1;\nbar.sync 0;\nld.shared.u32 %r2, FAULT;\nst.shared.u32 [s+512], %r2;\n{STORE}",
        "[s+4]",
        "[%r4]",
        before=SHARED,
    ),
}
# Several threads load an element; one of these threads stores to the element.
IN_PLACE = """
and.b32 %r3, %r0, 15;
mad.wide.u32 %rd2, %r3, 4, %rd0;
ld.global.u32 %r1, [%rd2+256];
add.u32 %r2, %r1, 1;
setp.lt.u32 %p1, %r0, 16;
FAULT
@%p1 st.global.u32 [%rd2+256], %r2;
"""
# Code whose branches on the loaded value only select the value of a register.
SELECTED = "mov.u32 %r4, 0;\nsetp.eq.u32 %p2, %r1, 77;\n@%p2 bra NEXT;\nmov.u32 %r4, 1;\nNEXT:\n"
NESTED = "mov.u32 %r4, 0;\nsetp.eq.u32 %p2, %r1, 77;\nsetp.eq.u32 %p3, %r1, 0;\n@%p2 bra NEXT;\n@%p3 bra OTHER;\n"
NESTED += "mov.u32 %r4, 1;\nbra.uni NEXT;\nOTHER:\nmov.u32 %r4, 2;\nNEXT:\n"
UNUSED = {
    "nothing": "",
    "a sum": "selp.u32 %r4, %r1, 0, %p1;\nsetp.eq.u32 %p2, %r4, 77;\n@%p1 add.u32 %r2, %r2, %r4;",
    "a branch": f"{SELECTED}@%p1 add.u32 %r2, %r2, %r4;\n@%p1 sub.u32 %r2, %r2, %r4;",
    "nested branches": f"{NESTED}@%p1 add.u32 %r2, %r2, %r4;\n@%p1 sub.u32 %r2, %r2, %r4;",
}
USES = {
    "a store": "st.global.u32 [%rd1], %r1;",
    "an address": "and.b32 %r4, %r1, 4;\ncvt.u64.u32 %rd3, %r4;\nadd.u64 %rd3, %rd3, %rd0;\n"
    "ld.global.u32 %r5, [%rd3+768];",
    "a branch around a store": "setp.eq.u32 %p2, %r1, 77;\n@%p2 bra NEXT;\nst.global.u32 [%rd1], 1;\nNEXT:",
    "a branch around a barrier": "setp.eq.u32 %p2, %r1, 77;\n@!%p2 bra NEXT;\nbar.warp.sync -1;\nNEXT:",
    "a branch around an exit": "setp.eq.u32 %p2, %r1, 77;\n@!%p2 bra NEXT;\nexit;\nNEXT:",
    "a loop": "and.b32 %r4, %r1, 3;\nNEXT:\nsub.u32 %r4, %r4, 1;\nsetp.gt.s32 %p2, %r4, 0;\n@%p2 bra NEXT;",
    "a selected value that is stored": f"{SELECTED}st.global.u32 [%rd1], %r4;",
    "a value that nested branches select": f"{NESTED}st.global.u32 [%rd1], %r4;",
    "a predicate of a store": "setp.eq.u32 %p2, %r1, 77;\n@%p2 st.global.u32 [%rd1], 1;",
    "a reduction": "red.global.add.u32 [%rd0], %r1;",
    "another lane's store": "shfl.sync.down.b32 %r4, %r1, 16, 31, -1;\nadd.u32 %r2, %r2, %r4;",
    "a vote": "setp.eq.u32 %p2, %r1, 77;\nvote.sync.any.pred %p3, %p2, -1;\n@%p3 add.u32 %r2, %r2, 1;",
    "all stores": "setp.ge.u32 %p1, %r0, 0;",
}

each_run = pytest.mark.parametrize(("kind", "schedule"), RUNS, ids=str)


@each_run
@pytest.mark.parametrize("twins", STORES.values(), ids=list(STORES))
def test_copies_of_one_value_are_a_note_and_others_an_error(twins: Twins, kind: str, schedule: dict[str, Any]) -> None:
    assert twins.severities(twins.benign, data(kind), **schedule) <= {"note"}
    assert twins.severities(twins.racy, data(kind), **schedule) == {"error"}


@pytest.mark.parametrize("twins", STORES.values(), ids=list(STORES))
def test_copies_of_two_blocks_are_reported(twins: Twins) -> None:
    if twins.grid > 1:
        assert twins.severities(twins.benign, data("random")) == {"note"}


# --- products contracted into a reduction ------------------------------------------------------

SQUARES = f"""
ld.global.f32 %f1, {OF_THREAD};
mul.f32 %f3, %f1, %f1;
shfl.sync.bfly.b32 %f2, %f3, 1, 31, -1;
fma.rn.f32 %f1, %f1, %f1, %f2;
FAULT
st.global.f32 [%rd0], %f1;
"""
REST = BUTTERFLY.partition("\n")[2].partition("\n")[2]
CONTRACTED = Twins(SQUARES, REST, REST.replace(" 16, 31", " 8, 31"), block=32)
# A weighted mean of (a, b) rounds differently from a weighted mean of (b, a).
WELFORD = Twins(
    f"ld.global.f32 %f1, {OF_THREAD};\nand.b32 %r3, %r0, 1;\nsetp.eq.u32 %p1, %r3, 0;\n"
    "selp.f32 %f3, 0f3F800000, 0f40000000, %p1;\n"
    "shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1;\nshfl.sync.bfly.b32 %f4, %f3, 1, 31, -1;\n"
    "add.f32 %f5, %f3, %f4;\ndiv.full.f32 %f6, %f4, %f5;\nsub.f32 %f7, %f2, %f1;\nFAULT\n"
    "shr.u32 %r5, %r0, 1;\nmad.wide.u32 %rd2, %r5, 4, %rd0;\nst.global.f32 [%rd2], %f1;",
    "fma.rn.f32 %f1, %f7, %f6, %f1;",
    "fma.rn.f32 %f1, %f7, %f6, %f2;",
    block=32,
)


# As torch.compile writes it: the difference of equal means is 0, also if both are infinite.
EQUAL_MEANS = replace(
    WELFORD,
    body=WELFORD.body.replace("FAULT", "setp.eq.f32 %p2, %f1, %f2;\nselp.f32 %f7, 0f00000000, %f7, %p2;\nFAULT"),
)


@each_run
@pytest.mark.parametrize("twins", [CONTRACTED, WELFORD, EQUAL_MEANS], ids=["squares", "means", "equal means"])
def test_copies_that_are_equal_but_for_rounding_are_a_note(twins: Twins, kind: str, schedule: dict[str, Any]) -> None:
    assert twins.severities(twins.benign, data(kind), **schedule) == {"note"}
    assert twins.severities(twins.racy, data(kind), **schedule) == {"error"}


def test_a_note_gives_the_difference_of_copies_in_ulp() -> None:
    (finding,) = execute(SQUARES.replace("FAULT", REST), data("random")).findings
    assert any("lanes of one instruction store values that differ by 1 ulp" in note for note in finding.notes)


# --- rows of matrices --------------------------------------------------------------------------

# Lanes 4r to 4r + 3 hold row r of a matrix. stmatrix stores rows r and r + 4 (of lanes i and i + 16) to one address.
ROWS = """
mov.u32 %r3, s; and.b32 %r4, %r0, 3; mad.lo.u32 %r3, %r4, 16, %r3;
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r2};
"""
# With .trans, lanes 4c to 4c + 3 hold column c of the matrix; lanes i and i + 2 hold elements of rows r and r + 4.
COLUMNS = ROWS.replace(".shared", ".trans.shared")
ONE_LANE_TELLS_THE_OTHERS = """
setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [flag], 0; bar.warp.sync -1;
@%p1 st.release.cta.shared.u32 [flag], 1; @%p1 bra TOLD;
HEAR: ld.acquire.cta.shared.u32 %r5, [flag]; setp.eq.u32 %p2, %r5, 0; @%p2 bra HEAR;
TOLD:
"""
LOADED, SUMMED = f"ld.global.f32 %f1, {OF_THREAD};\n", "mul.f32 %f3, %f1, %f1;\nFAULT\nfma.rn.f32 %f1, %f1, %f1, %f2;\n"
HALVES = LOADED + SUMMED
# Each lane stores a word to row lane / 4, and loads it again as a part of that row.
THROUGH_ROWS = """
mov.u32 %r3, t; mad.lo.u32 %r4, %r0, 4, %r3; st.shared.f32 [%r4], %f1; bar.warp.sync -1;
and.b32 %r4, %r0, 7; mad.lo.u32 %r4, %r4, 16, %r3;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r5}, [%r4]; mov.b32 %f1, %r5;
"""
WHOLE, PACKED = "mov.b32 %r2, %f1;", "cvt.rn.f16x2.f32 %r2, %f1, %f1;"
MATRICES = {
    "one register": (HALVES + WHOLE + ROWS, 16),
    "two halves": (HALVES + PACKED + ROWS, 16),
    "columns": (HALVES + WHOLE + COLUMNS, 2),
    "loaded rows": (LOADED + THROUGH_ROWS + SUMMED + WHOLE + ROWS, 16),
    "loaded columns": (LOADED + THROUGH_ROWS.replace("x1.", "x1.trans.") + SUMMED + WHOLE + ROWS, 16),
    "lanes apart": (HALVES + WHOLE + ONE_LANE_TELLS_THE_OTHERS + ROWS, 16),
    "lanes apart, and columns": (HALVES + WHOLE + ONE_LANE_TELLS_THE_OTHERS + COLUMNS, 2),
}


def copies_of_rows(name: str, other: int) -> Twins:
    """Return a case: each lane stores its square plus another lane's; if racy, plus the square of lane ^ `other`."""
    body, right = MATRICES[name]
    add = "shfl.sync.bfly.b32 %f2, %f3, {}, 31, -1;"
    before = ".shared .align 16 .b8 s[64];\n.shared .align 16 .b8 t[128];\n.shared .align 4 .b32 flag;"
    return Twins(body, add.format(right), add.format(other), block=32, before=before)


@pytest.mark.hopper
@each_run
@pytest.mark.parametrize("name", MATRICES)
def test_copies_of_rows_that_are_equal_but_for_rounding_are_a_note(name: str, kind: str, schedule: Any) -> None:
    twins = copies_of_rows(name, other=8)
    assert twins.severities(twins.benign, data(kind), **schedule) == {"note"}
    assert twins.severities(twins.racy, data(kind), **schedule) == {"error"}


# --- loads whose value no thread uses ----------------------------------------------------------


@each_run
@pytest.mark.parametrize("block", [32, 64])
def test_a_racing_load_whose_value_no_thread_uses_is_a_note(kind: str, block: int, schedule: dict[str, Any]) -> None:
    words = data(kind)
    wanted = words.copy()
    wanted[64:80] += 1
    for use in UNUSED.values():
        found = execute(IN_PLACE.replace("FAULT", use), words.copy(), block=block, **schedule).findings
        assert found, use
        assert {(each.rule, each.severity) for each in found} <= {("lane-race", "note"), ("global-race", "note")}
        assert all("no thread uses the value" in each.notes[-1] for each in found)
    execute(IN_PLACE.replace("FAULT", ""), words, block=block, **schedule)
    assert words.tolist() == wanted.tolist()


@each_run
@pytest.mark.parametrize("use", USES.values(), ids=list(USES))
def test_a_racing_load_whose_value_is_used_is_an_error(use: str, kind: str, schedule: dict[str, Any]) -> None:
    found = execute(IN_PLACE.replace("FAULT", use), data(kind), **schedule).findings
    assert "error" in {each.severity for each in found}


# --- mbarrier.inval ----------------------------------------------------------------------------

# Like the destructor of cuda::pipeline: one lane of each warp releases for its warp; the last lane invalidates.
ENDED = """
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 64;
@%p0 st.shared.u32 [left], 2;
bar.sync 0;
mbarrier.arrive.shared.b64 _, [bar];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
@!%p1 bra WAIT;
mov.u32 %r1, %laneid;
setp.lt.u32 %p2, %r1, 16;
FAULT
mov.u32 %r3, 0;
setp.eq.u32 %p3, %r1, 0;
@%p3 atom.acq_rel.cta.shared.add.u32 %r3, [left], -1;
setp.eq.and.u32 %p4, %r3, 1, %p3;
@%p4 mbarrier.inval.shared.b64 [bar];
"""
CONVERGED = "match.any.sync.b32 %r2, 7, -1;"
APART = {"nothing": "", "a .sync instruction of half of the lanes": "@%p2 match.any.sync.b32 %r2, 7, 0xffff;"}


def ends(between: str, schedule: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the rule and severity of each finding."""
    words, before = np.zeros(64, np.uint32), ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 left;"
    found = execute(ENDED.replace("FAULT", between), words, block=64, before=before, **schedule).findings
    return {(each.rule, each.severity) for each in found}


@pytest.mark.parametrize("schedule", [{}, {"delay_async": True}, {"seed": 1}, {"seed": 2}], ids=str)
def test_mbarrier_inval_after_a_sync_instruction_is_a_note(schedule: dict[str, Any]) -> None:
    assert ends("bar.warp.sync -1;", schedule) == set()
    assert ends(CONVERGED, schedule) == {("mbarrier-inval", "note")}
    for between in APART.values():
        assert ends(between, schedule) == {("mbarrier-inval", "error")}


# --- unproved races ----------------------------------------------------------------------------

UNPROVED = {
    # An ordered store between the loads stores an equal value, but only for this run's data.
    "loads before and after a store": "setp.lt.u32 %p1, %r0, 32;\n@%p1 ld.global.u32 %r2, [%rd0+256];\nbar.sync 0;\n"
    "setp.eq.u32 %p2, %r0, 5;\nld.global.u32 %r1, [%rd0+512];\n@%p2 st.global.u32 [%rd0+256], %r1;\nbar.sync 0;\n"
    f"@!%p1 ld.global.u32 %r2, [%rd0+256];\nmov.u32 %r3, %ctaid.x;\n{STORE}",
    "volatile loads": f"ld.volatile.global.u32 %r2, [%rd0+256];\n{STORE}",
    "some threads load another element": "setp.lt.u32 %p1, %r0, 48;\nld.global.u32 %r2, [%rd0+256];\n"
    f"@!%p1 ld.global.u32 %r2, {OF_THREAD};\n{STORE}",
    "the result of an atomic operation": f"atom.global.or.b32 %r2, [%rd0+256], 0;\n{STORE}",
    "a clock": f"mov.u32 %r2, %clock;\nand.b32 %r2, %r2, 0;\n{STORE}",
}


@pytest.mark.parametrize("schedule", [{}, {"seed": 1}], ids=str)
@pytest.mark.parametrize("body", UNPROVED.values(), ids=list(UNPROVED))
def test_an_equal_value_that_is_not_proved_leaves_the_error(body: str, schedule: dict[str, Any]) -> None:
    found = execute(body, data("zeros"), grid=2, block=64, **schedule).findings
    assert {each.severity for each in found if each.rule == "global-race"} >= {"error"}


def test_a_fault_in_a_proof_is_a_warning_and_leaves_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    twins = STORES["the index of the larger of two numbers below a constant"]
    monkeypatch.setattr(Samples, "linear", lambda *_: 1 / 0)
    monkeypatch.setattr(Samples, "selected", lambda *_: 1 / 0)
    with pytest.warns(RuntimeWarning, match="not proved to be benign: ZeroDivisionError in the simulator"):
        assert twins.severities(twins.benign, data("random")) == {"error"}


def test_each_launch_has_its_own_verdict() -> None:
    text = module(
        f"ld.param.u32 %r3, [all];\nsetp.eq.u32 %p1, %r3, 0;\nld.global.u32 %r2, {OF_ALL};\n"
        f"@%p1 ld.global.u32 %r2, {OF_THREAD};\n{STORE}",
        parameters=".param .u64 out, .param .u32 all",
    )
    words = data("zeros")
    severities = []
    for launches in ([1], [0], [1, 0]):
        made = [Launch(grid=2, block=32, args=[words, np.uint32(each)]) for each in launches]
        severities.append({each.severity for each in run(text, made).findings})
    assert severities == [{"note"}, {"error"}, {"note", "error"}]


def test_the_command_succeeds_where_only_notes_are_found(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.ptx"
    for body, status in ((f"mov.u32 %r2, 7;\n{STORE}", 0), (f"mov.u32 %r2, %ctaid.x;\n{STORE}", 1)):
        file.write_text(module(body))
        assert command([str(file), "--grid", "2", "--block", "32", "--arg", "u32[64]"]) == status
    assert "note[global-race]" in capsys.readouterr().out
