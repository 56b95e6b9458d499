"""Accesses to whole lines (128 bytes) of global memory are checked together, with the findings of separate lanes."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx_sim import run
from pyptx_sim.shadow.lines import WholeLines

pytestmark = pytest.mark.scaled(3)

HEAD = """
.version 8.3
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p_x, .param .u64 p_y)
{
    .reg .pred %p<4>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd0, [p_x];
    ld.param.u64 %rd1, [p_y];
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, %ctaid.x;
    mad.lo.u32 %r2, %r1, 64, %r0;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
    mul.wide.u32 %rd5, %r0, 4;
    add.u64 %rd6, %rd0, %rd5;
    add.u64 %rd7, %rd1, %rd5;
    cvt.u64.u32 %rd8, %r2;
    add.u64 %rd8, %rd8, %rd1;
    mad.wide.u32 %rd9, %r2, 8, %rd1;
    mad.wide.u32 %rd10, %r2, 16, %rd0;
"""
# The thread's own elements of arrays x and y are at %rd3 and %rd4; all CTAs share the elements at %rd6 and %rd7.
# The arrays also contain the thread's byte (%rd8+1024), its pair of words (%rd9+2048), its four words (%rd10+4096).
ACCESSES = (
    "ld.global.u32 %r3, [%rd3];",
    "st.global.u32 [%rd4], %r0;",
    "ld.global.u32 %r3, [%rd4];",
    "ld.global.u32 %r3, [%rd6];",
    "st.global.u32 [%rd3], %r0;",
    "st.global.u32 [%rd7], %r2;",
    "ld.global.u32 %r3, [%rd4+4];",
    "st.global.u32 [%rd4+128], %r0;",
    "ld.global.nc.u32 %r3, [%rd3];",
    "st.relaxed.gpu.global.u32 [%rd4], %r0;",
    "red.global.add.u32 [%rd3], 1;",
    "setp.eq.u32 %p0, %r0, 0;\n    @%p0 st.global.u32 [%rd3], %r2;",
    "ld.global.v2.u32 {%r3, %r4}, [%rd9+2048];",
    "st.global.v2.u32 [%rd9+2048], {%r0, %r1};",
    "ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd10+4096];",
    "st.global.u8 [%rd8+1024], %r0;",
    "ld.global.u8 %r3, [%rd8+1025];",
    "st.global.v2.u32 [%rd9], {%r0, %r1};",
    "st.global.u32 [%rd4+2048], %r0;",
    "bar.sync 0;",
    "bar.warp.sync -1;",
)


def program(rng: np.random.Generator) -> str:
    """Return a module of two to seven random accesses, most of them of whole 128-byte lines of global memory."""
    likely = np.array([8, 8, 4, 4, *[1] * 8, 4, 4, 4, 2, 1, 1, 1, 4, 2])
    chosen = rng.choice(len(ACCESSES), rng.integers(2, 8), p=likely / likely.sum())
    return HEAD + "\n".join(f"    {ACCESSES[each]}" for each in chosen) + "\n    ret;\n}\n"


def found(text: str) -> list[tuple[object, ...]]:
    x, y = (np.zeros(2048, np.uint32) for _ in range(2))
    result = run(text, grid=3, block=64, args=[x, y], checks="all")
    return [(each.rule, each.message, each.count, each.severity) for each in result.findings]


@pytest.mark.parametrize("seed", range(250))
def test_lines_show_what_lanes_show(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = program(np.random.default_rng(seed))
    together = found(text)
    monkeypatch.setattr(WholeLines, "enter", lambda *_args: False)
    assert together == found(text)


@pytest.mark.long
def test_some_of_these_programs_are_at_fault_and_some_are_not() -> None:
    texts = [program(np.random.default_rng(seed)) for seed in range(150)]
    races = [any("race" in str(rule) for rule, *_ in found(text)) for text in texts]
    assert 20 < sum(races) < 130


@pytest.mark.parametrize(("size", "register"), [(4, "%r3"), (8, "{%r3, %r4}"), (16, "{%r3, %r4, %r5, %r6}")])
def test_a_lane_that_reads_what_its_neighbor_wrote_races_with_it_whatever_the_width(size: int, register: str) -> None:
    vector = {4: "", 8: ".v2", 16: ".v4"}[size]
    lines = f"""
    mul.wide.u32 %rd2, %r0, {size};
    add.u64 %rd3, %rd0, %rd2;
    xor.b32 %r7, %r0, 1;
    mul.wide.u32 %rd5, %r7, {size};
    add.u64 %rd6, %rd0, %rd5;
    mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0; mov.u32 %r6, 0;
    st.global{vector}.u32 [%rd3], {register};
    ld.global{vector}.u32 {register}, [%rd6];
    ret;
}}
"""
    x = np.zeros(64 * 4, np.uint32)
    result = run(HEAD + lines, grid=1, block=64, args=[x, x.copy()], checks="all")
    assert "lane-race" in {each.rule for each in result.findings}


@pytest.mark.hopper
@pytest.mark.parametrize("meets", [True, False])
def test_what_one_lane_has_waited_for_the_others_do_not_know(*, meets: bool) -> None:
    """Warp 0 writes a line of x. Lane 0 of warp 1 waits for that at an mbarrier, and all its lanes read the line."""
    body = f"""
    .shared .align 8 .b64 bar;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 mbarrier.init.shared.b64 [bar], 32;
    bar.sync 0;
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra SECOND;
    st.global.u32 [%rd3], %r0;
    mbarrier.arrive.shared.b64 _, [bar];
    ret;
SECOND:
    setp.ne.u32 %p2, %r0, 32;
    @%p2 bra READ;
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
READ:
    {"bar.warp.sync -1;" if meets else ""}
    ld.global.u32 %r3, [%rd3+-128];
    ret;
}}
"""
    x = np.zeros(2048, np.uint32)
    text = HEAD.replace("sm_80", "sm_90")
    found = [run(text + body, grid=1, block=64, args=[x, x.copy()], checks="all", seed=seed) for seed in range(4)]
    assert all({each.rule for each in result.findings} == (set() if meets else {"global-race"}) for result in found)
