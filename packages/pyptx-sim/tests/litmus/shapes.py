"""Families of litmus programs: the shapes of the literature, with every release and acquire pattern.

In a shape, `{release}` and `{acquire}` stand for patterns on flag `f`; `{then}` is a release on `g`, `{after}` an
acquire of `g`. Sources of the shapes: Alglave, Batty, Donaldson and others, "GPU Concurrency: Weak Behaviours and
Programming Assumptions", 2015; Lustig, Sahasrabuddhe and Giroux, "A Formal Analysis of the NVIDIA PTX Memory
Consistency Model", 2019.
"""

from __future__ import annotations

import itertools
import random
import re
from typing import TYPE_CHECKING, Final

from pyptx_sim.happens_before.reference.programs import SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterator

TELLING: Final = (
    "st f",
    "st.relaxed.S f",
    "st.release.S f",
    "fence.acq_rel.S; st.relaxed.S f",
    "fence.sc.S; st.relaxed.S f",
    "fence.acq_rel.S; st f",
    "atom.relaxed.S f",
    "atom.release.S f",
    "red.release.S f",
    "st.release.S f; st.relaxed.S f",
)
HEARING: Final = (
    "ld f",
    "ld.relaxed.S f",
    "ld.acquire.S f",
    "ld.relaxed.S f; fence.acq_rel.S",
    "ld f; fence.acq_rel.S",
    "ld.relaxed.S f; ld.acquire.S f",
    "atom.relaxed.S f",
    "atom.acquire.S f",
    "atom.relaxed.S f; fence.sc.S",
    "red.relaxed.S f; fence.acq_rel.S",
)
# Thread separators of programs: the releasing and the acquiring thread are in different warps, CTAs or clusters.
APART: Final = ("|", "||", "|||")

# Litmus tests with release and acquire patterns, by their names in the literature.
LONG: Final = {
    "message passing": "st x; {release} || {acquire}; ld x",
    "write after message": "st x; {release} || {acquire}; st x",
    "read before message": "ld x; {release} || {acquire}; st x",
    "update after message": "st x; {release} || {acquire}; atom.relaxed.gpu x",
    "two writes to one location": "st x; st x; {release} || {acquire}; ld x",
    "write to read causality": "st x; {release} || {acquire}; {then} || {after}; ld x",
    "through an update": "st x; {release} || atom.relaxed.gpu f || {acquire}; ld x",
    "through a store": "st x; {release} || ld.relaxed.gpu f; st.relaxed.gpu f || {acquire}; ld x",
    "two releases, one acquire thread": "st x; {release} || st y; {release} || {acquire}; ld x; ld y",
    "one release, two acquire threads": "st x; {release} || {acquire}; ld x || {acquire}; ld x",
}
# Litmus tests without release and acquire patterns: `{w}` is the strength of all accesses, `{f}` is a fence.
SHORT: Final = (
    "st.{w} x; {f}; ld.{w} y || st.{w} y; {f}; ld.{w} x",
    "ld.{w} x; {f}; st.{w} y || ld.{w} y; {f}; st.{w} x",
    "st.{w} x; {f}; st.{w} y || st.{w} y; {f}; st.{w} x",
    "st.{w} x; {f}; st.{w} y || st.{w} y; {f}; ld.{w} x",
    "st.{w} x; {f}; st.{w} y || ld.{w} y; {f}; st.{w} x",
    "st.{w} x || st.{w} y || ld.{w} x; {f}; ld.{w} y || ld.{w} y; {f}; ld.{w} x",
    "st.{w} x || ld.{w} x; ld.{w} x",
    "st.{w} x; st.{w} x || ld.{w} x; ld.{w} x",
    "ld.{w} x; st.{w} x || st.{w} x",
    "atom.{w} x || atom.{w} x || ld.{w} x",
    "atom.{w} x || st.{w} x",
    "red.{w} x || atom.{w} x; ld.{w} x",
)
# A weak access does not race with a write that an earlier strong read of its thread returned. After a strong write of
# its own thread instead, the weak access races with the other thread's overwritten write. Tests run all these shapes.
OBSERVED: Final = (
    "st.release.gpu x || ld.acquire.gpu x; ld x",
    "st.relaxed.gpu x || ld.acquire.gpu x; ld x",
    "atom.relaxed.gpu x || ld.acquire.gpu x; ld x",
    "st.release.gpu x || ld.acquire.gpu x; st x",
    "st.relaxed.gpu x || ld.acquire.gpu x; st x",
    "atom.relaxed.gpu x || ld.acquire.gpu x; st x",
    "st.relaxed.gpu x || atom.acquire.gpu x; ld x",
    "st.relaxed.gpu x || st.relaxed.gpu x; ld x",
    "st.relaxed.gpu x | st.relaxed.gpu x; ld x",
    "st.relaxed.gpu x || atom.relaxed.gpu x; ld x",
)
# Litmus tests of CTA barriers (`bar`), also with accesses that no barrier orders.
BARRIERS: Final = (
    "st x; bar | bar; ld x",
    "st x | bar; ld x",
    "ld x; bar | bar; st x",
    "st x; bar; ld y | st y; bar; ld x",
    "st x; bar; st.release.gpu f | bar || ld.acquire.gpu f; ld x",
    "st x; bar | bar; st.release.gpu f || ld.acquire.gpu f; ld x",
    "st x; bar | bar; st.relaxed.gpu f || ld.acquire.gpu f; ld x",
    "st x; st.release.gpu f || ld.acquire.gpu f; bar | bar; ld x",
    "st x; st.release.gpu f || ld.relaxed.gpu f; bar | bar; ld x",
    "st x; st.release.gpu f || bar; ld.acquire.gpu f | bar; ld x",
    "st x; st.release.cta f; bar | bar; st.release.gpu g || ld.acquire.gpu g; ld x",
)


_STRONG: Final = (
    "st.relaxed",
    "st.release",
    "ld.relaxed",
    "ld.acquire",
    "atom.relaxed",
    "atom.acq_rel",
    "red.relaxed",
)


def messages() -> Iterator[str]:
    """Yield message passing between two threads, with every release, acquire, scope and thread separator."""
    for telling, hearing, apart, scope in itertools.product(TELLING, HEARING, APART, SCOPES):
        yield f"st x; {telling} {apart} {hearing}; ld x".replace(".S", f".{scope}")


def mixed_scopes() -> Iterator[str]:
    """Yield message passing with different scopes of the release and the acquire."""
    for (released, acquired), apart in itertools.product(itertools.permutations(SCOPES, 2), APART):
        for telling, hearing in itertools.product(TELLING[2:4], HEARING[2:4]):
            yield f"st x; {telling.replace('.S', f'.{released}')} {apart} {hearing.replace('.S', f'.{acquired}')}; ld x"


def long_shapes() -> Iterator[str]:
    """Yield the shapes of `LONG`, with release and acquire patterns."""
    for shape in LONG.values():
        for telling, hearing in itertools.product(TELLING[1:9:2], HEARING[1:9:2]):
            after, then = (re.sub(r" f(?=$|;)", " g", each) for each in (hearing, telling))
            yield shape.format(release=telling, acquire=hearing, then=then, after=after).replace(".S", ".gpu")


def short_shapes() -> Iterator[str]:
    """Yield the shapes of `SHORT`: with weak accesses, relaxed ones, and fences between them."""
    for shape, strength, fence in itertools.product(
        SHORT, ("weak", "relaxed.gpu", "relaxed.cta"), ("", "fence.acq_rel.gpu", "fence.sc.gpu", "fence.sc.cta")
    ):
        if fence and "{f}" not in shape:
            continue
        yield shape.format(w=strength, f=fence).replace(".weak", "").replace("; ;", ";")


def random_shapes(count: int, seed: int, apart: tuple[str, ...] = APART) -> Iterator[str]:
    """Yield programs of two or three threads with random operations; `apart`: separators of threads (`||`, …)."""
    draw = random.Random(seed)
    operations = [
        *(f"{name} {where}" for name in ("ld", "st") for where in "xf"),
        *(f"{name}.{scope} f" for scope in ("cta", "gpu") for name in _STRONG),
        *(f"fence.{sem}.{scope}" for sem in ("acq_rel", "sc") for scope in ("cta", "gpu")),
    ]  # fmt: skip
    for _ in range(count):
        threads = ["; ".join(draw.choices(operations, k=draw.randint(2, 3))) for _ in range(draw.randint(2, 3))]
        text = threads[0]
        for thread in threads[1:]:
            text += f" {draw.choice(apart)} {thread}"
        yield text


# Litmus tests of lanes of a warp, most of which release their own flags; `{last}`: nothing, or the last lane's release.
LANES: Final = {
    "reads, released singly": "ld x; {tell} f , ld x; {tell} g , ld x{last} {apart} {hear}; st x",
    "x read as 1st, 2nd, 3rd": "ld x; {tell} f , ld y; ld x; {tell} g , ld y; ld y; ld x{last} {apart} {hear}; st x",
    "reads between releases": "ld x; {tell} f; ld y , ld y; ld y; ld x; {tell} g {apart} {hear}; st x",
    "reads again": "ld x; {tell} f; ld x , ld x; ld y; ld x; {tell} g , ld x{last} {apart} {hear}; st x",
    "polls, released singly": "ld.relaxed.gpu x; {tell} f , ld.relaxed.gpu x; {tell} g {apart} {hear}; st x",
    "writes of one": "st.relaxed.gpu x; {tell} f , st.relaxed.gpu x; {tell} g {apart} {hear}; ld x",
    "updates of one": "red.relaxed.gpu x; {tell} f , red.relaxed.gpu x; {tell} g {apart} {hear}; ld x",
    "a release after bar.warp.sync": "ld x; bar.warp , ld x; bar.warp , ld x; bar.warp; {tell} f {apart} {hear}; st x",
    "one lane writes": "ld x; {tell} f , ld x; {tell} g , {hear}; st x",
    "one lane writes after bar.warp.sync": "ld x; bar.warp , ld x; bar.warp , ld y; bar.warp; st x",
    "reads after a barrier": "ld x; bar.warp , ld y; bar.warp; ld x , ld x; bar.warp; {tell} f {apart} {hear}; st x",
}


def lanes() -> Iterator[str]:
    """Yield programs in which lanes of one warp release separately. Another warp acquires, or one of the lanes."""
    for shape, apart in itertools.product(LANES.values(), APART):
        for tell, acquired, last in itertools.product(
            ("st.release.gpu", "red.release.gpu", "st.relaxed.gpu"),
            ("fg", "gf", "f", "g", "fgh", "hg"),
            ("", "; st.release.gpu h"),
        ):
            hear = "; ".join(f"ld.acquire.gpu {flag}" for flag in acquired)
            yield shape.format(tell=tell, last=last, apart=f" {apart}", hear=hear)
