"""Findings do not depend on the granules of shadow memory, whose size, 1 to 16 bytes, differs by memory page."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tools.shares import full

from pyptx_sim import run
from pyptx_sim.events import reach_of
from pyptx_sim.rules import accesses
from pyptx_sim.shadow.divisions import Division
from pyptx_sim.shadow.shadow import Shadow, fitting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import Reach
    from pyptx_sim.observer import AsyncAccess, Offsets

pytestmark = pytest.mark.scaled(2)

BYTES, THREADS, SEEDS = 4096, 64, full(100, default=40)
SIZES = {1: "b8", 2: "b16", 4: "b32", 8: "b64", 16: "v4.b32"}
REGISTERS = {1: "%h", 2: "%h", 4: "%r", 8: "%q", 16: "{%r, %r, %r, %r}"}


class Undivided(Division):
    """Shadow memory whose granules all have one size, the size of the narrowest access."""

    def parts(self, offsets: Offsets, size: int, reach: Reach) -> Iterator[tuple[Shadow, NDArray[np.int64] | None]]:
        del reach
        shadow = self._shadow(16)
        shadow.narrow(fitting(shadow.granule, offsets, size))
        yield shadow, None

    def parts_of(self, touch: AsyncAccess) -> Iterator[tuple[Shadow, AsyncAccess]]:
        yield self._shadow(16), touch


def accesses_of(seed: int, *, copies: bool) -> str:
    """Return random accesses, most of them disjoint between threads, with barriers and bulk `copies` between them."""
    rng = np.random.default_rng(seed)
    lines: list[str] = []
    for _ in range(int(rng.integers(4, 12))):
        kind = rng.random()
        if kind < 0.15:
            lines.append("bar.sync 0;")
        elif kind < 0.3 and copies:
            size, at = (int(each) * 16 for each in (rng.integers(1, 80), rng.integers(0, 160)))
            source = f"[%d], [s+{at}], {size}"
            lines += ["bar.sync 0;", "fence.proxy.async.shared::cta;"][: int(rng.integers(0, 3))]
            lines.append(f"@%first cp.async.bulk.global.shared::cta.bulk_group {source};")
            lines.append("@%first cp.async.bulk.commit_group;")
            lines += ["cp.async.bulk.wait_group.read 0;", "bar.sync 0;"][: int(rng.integers(0, 3))]
        elif kind < 0.4:
            lines += [f"mad.lo.u32 %a, %t, {rng.choice([0, 4])}, %s;", "red.shared.add.u32 [%a], %r;"]
        else:
            size = int(rng.choice([1, 2, 4, 8, 16], p=[0.1, 0.1, 0.2, 0.2, 0.4]))
            stride = size * int(rng.choice([0, 1, 1, 1, 2]))
            start = int(rng.integers(0, (BYTES - THREADS * stride) // 16 if rng.random() < 0.6 else 2)) * 16
            lines.append(f"mad.lo.u32 %a, %t, {stride}, %s;")
            place, held = f"[%a+{start}]", REGISTERS[size]
            told = f"{place}, {held}" if rng.random() < 0.6 else f"{held}, {place}"
            what = "st" if told.startswith("[") else "ld"
            guard = f"@%{rng.choice(['first', 'second', 'low', 'all'])} " if rng.random() < 0.6 else ""
            lines.append(f"{guard}{what}.shared.{SIZES[size]} {told};")
    return "\n\t".join([*lines, *["cp.async.bulk.wait_group 0;"] * copies])


def module(body: str) -> str:
    return f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 16 out, .param .u64 .ptr .global .align 16 in) {{
\t.shared .align 16 .b8 s[{BYTES}];
\t.reg .b16 %h; .reg .b32 %r, %t, %a, %s; .reg .b64 %q, %d, %b, %g; .reg .pred %first, %second, %low, %all;
\tld.param.u64 %d, [out];
\tld.param.u64 %g, [in];
\tmov.u32 %t, %tid.x;
\tmov.u32 %s, s;
\tsetp.eq.u32 %first, %t, 0;
\tsetp.eq.u32 %second, %t, 1;
\tsetp.lt.u32 %low, %t, 32;
\tsetp.lt.u32 %all, %t, 64;
\tmov.b16 %h, 7; mov.b32 %r, 7; mov.b64 %q, 7;
\t{body}
\tret;
}}
"""


def met(text: str, blocks: int = 2) -> Counter[tuple[str, int | None]]:
    """Return the number of lanes with findings, by rule and line."""
    found: Counter[tuple[str, int | None]] = Counter()
    arrays = [np.zeros(BYTES // 4, np.int32), np.zeros(BYTES // 4, np.int32)]
    for each in run(text, grid=blocks, block=THREADS, args=arrays).findings:
        found[each.rule, each.line] += each.count
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_races_of_accesses_are_the_same_and_as_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = module(accesses_of(seed, copies=False))
    divided = met(text)
    monkeypatch.setattr(accesses, "Division", Undivided)
    assert divided == met(text)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_races_in_global_memory_are_the_same_and_as_many(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = re.sub(r"%a(?=[+,\]])", "%b", accesses_of(seed, copies=False).replace(".shared.", ".global."))
    text = module(re.sub(r"mad.lo.u32 %b, %t, (\d+), %s", r"mad.wide.u32 %b, %t, \1, %g", body))
    divided = met(text)
    monkeypatch.setattr(accesses, "Division", Undivided)
    assert divided == met(text)


@pytest.mark.hopper
@pytest.mark.parametrize("seed", range(SEEDS))
def test_races_of_copies_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = module(accesses_of(seed, copies=True))
    divided = met(text)
    monkeypatch.setattr(accesses, "Division", Undivided)
    assert divided.keys() == met(text).keys()


@pytest.mark.hopper
@pytest.mark.long
def test_the_programs_race_and_their_memory_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []

    def move(shadow: Shadow, pages: NDArray[np.int64], other: Shadow) -> None:
        moved.append(len(pages))
        shadow_moves(shadow, pages, other)

    shadow_moves = Shadow.move
    monkeypatch.setattr(Shadow, "move", move)
    texts = [module(accesses_of(seed, copies=True)) for seed in range(SEEDS)]
    rules = {rule for text in texts for rule, _ in met(text)}
    assert {"shared-race", "lane-race", "early-reuse", "missing-proxy-fence"} <= rules
    assert len(moved) > 20


NARROWED = {
    # Race-free case: atomics on one word are morally strong, also after a byte access to the same page.
    "@%low red.shared.add.u32 [s], %r; @%first st.shared.b8 [s+512], %h; @%low red.shared.add.u32 [s], %r;": set(),
    # Racy case: a warp writes 16 bytes and reads one byte, the only narrow access; another warp bulk-copies the bytes.
    "@%high st.shared.v4.b32 [s+512], {%r, %r, %r, %r}; @%high ld.shared.b8 %h, [s+512]; "
    "@%first cp.async.bulk.global.shared::cta.bulk_group [%d], [s], 1024; @%first cp.async.bulk.commit_group; "
    "cp.async.bulk.wait_group 0;": {"shared-race"},
    # Racy case: two lanes read a word by separate instructions, and the lane that reads second then writes the word.
    "@%second ld.shared.b32 %r, [s]; @%pair bar.warp.sync 12; @%third ld.shared.b32 %r, [s]; "
    "@%first ld.shared.b8 %h, [s+512]; @%third st.shared.b32 [s], %r;": {"lane-race"},
}


@pytest.mark.hopper
@pytest.mark.parametrize("body", NARROWED)
def test_a_narrow_access_leaves_what_is_known_of_its_page(body: str) -> None:
    guards = "".join(
        f"setp.eq.u32 %{name}, %t, {lane};" for name, lane in (("first", 0), ("second", 1), ("third", 2), ("high", 32))
    )
    guards += "and.b32 %a, %t, 30; setp.eq.u32 %pair, %a, 2;"
    filled = "mad.lo.u32 %a, %t, 16, %s; st.shared.v4.b32 [%a], {%r, %r, %r, %r}; bar.sync 0; fence.proxy.async;"
    text = module(f"{filled} {guards} {body}").replace("%first, %second", "%high, %third, %pair, %first, %second")
    assert {rule for rule, _ in met(text, blocks=1)} == NARROWED[body]


TILES = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k() {
\t.shared .align 16 .b8 flag[16];
\t.shared .align 16 .b8 s[32768];
\t.reg .b32 %r<4>, %t, %a, %i; .reg .pred %p;
\tmov.u32 %t, %tid.x;
\tsetp.eq.u32 %p, %t, 0;
\t{flag}
\tmov.u32 %a, s;
\tmad.lo.u32 %a, %t, 16, %a;
\tmov.u32 %i, 0;
LOOP:
\tst.shared.v4.b32 [%a], {%r0, %r1, %r2, %r3};
\tbar.sync 0;
\tld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a+4096];
\tbar.sync 0;
\tadd.u32 %i, %i, 1;
\tsetp.lt.u32 %p, %i, 20;
\t@%p bra LOOP;
\tret;
}
"""


def test_a_byte_beside_tiles_does_not_make_checks_slow() -> None:
    def took(flag: str) -> float:
        text, times = TILES.replace("{flag}", flag), []
        for _ in range(3):
            start = time.process_time()
            run(text, grid=64, block=256)
            times.append(time.process_time() - start)
        return min(times)

    assert took("@%p st.shared.u8 [flag], %t;") < 2.5 * took("")  # measured time ratio: 1.4; with 1-byte granules: 4


def test_accesses_that_leave_out_a_page_here_and_there_are_alike_from_then_on() -> None:
    division = Division(64 * 1024, lambda granule: Shadow(64 * 1024, None, granule))
    pages = np.array([page for page in range(40) if page % 16 != 7])
    offsets = (pages[:, None] * 1024 + np.arange(0, 1024, 4)).reshape(-1)
    reach = reach_of(offsets)
    for _ in range(2):
        ((shadow, some),) = division.parts(offsets, 4, reach)
        assert shadow.granule == 4
        assert some is None
    left_out = np.arange(7 * 1024, 8 * 1024, 16)
    ((shadow, _),) = division.parts(left_out, 16, reach_of(left_out))
    assert shadow.granule == 4


def test_a_byte_here_and_there_makes_no_page_but_its_own_narrow() -> None:
    division = Division(64 * 1024, lambda granule: Shadow(64 * 1024, None, granule))
    bytes_ = np.array([5, 30 * 1024 + 1, 41 * 1024 + 3])
    for _ in range(2):
        assert [shadow.granule for shadow, _ in division.parts(bytes_, 1, reach_of(bytes_))] == [1]
    tiles = np.arange(1024, 30 * 1024, 16)
    assert [shadow.granule for shadow, _ in division.parts(tiles, 16, reach_of(tiles))] == [16]
