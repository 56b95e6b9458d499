"""Random kernels whose threads count arrivals in one word, wait for all, and read what other threads have stored.

In each round every thread stores a word; it, or one thread of its warp or CTA after a barrier, then adds to a counter.
The threads wait: all poll the counter, or only the threads that added to it, before a second barrier. Then they read
the words of other threads, and wait again before the next round. In other kernels only the last thread to arrive reads.
If the kernel also has accesses with another scope or size to other words, the checker compares the scopes and sizes of
all strong accesses. Without the release, without the acquire, or with a scope that excludes the other CTAs, the kernel
has a race under every schedule.

A fifth of PYPTX_FUZZ is the number of kernels; `nox -s fuzz` sets it. Without it, each kernel runs under half of the
schedules.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np
import pytest

from pyptx_sim import run

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = int(os.environ.get("PYPTX_FUZZ", "35")) // 5
STEP = 1 if "PYPTX_FUZZ" in os.environ else 2  # one of this many schedules is tested
CHUNKS = min(COUNT, 20)  # number of test cases; case i tests the seeds i, i + CHUNKS, …
SCHEDULES: Final = ((0, False), (1, False), (2, True), (3, False))
HEAD = """\
.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 seen, .param .u64 counters)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.shared .b64 count;
ld.param.u64 %rd1, [words];
ld.param.u64 %rd2, [seen];
ld.param.u64 %rd3, [counters];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r8, %ntid.x;
mad.lo.u32 %r2, %r2, %r8, %r1;
mul.wide.u32 %rd6, %r2, 4;
add.u64 %rd4, %rd1, %rd6;
add.u64 %rd6, %rd2, %rd6;
st.shared.u64 [count], 0;
bar.sync 0;
"""

Weakness: TypeAlias = Literal["release", "acquire", "scope"]


@dataclass(frozen=True, slots=True)
class Counting:
    """A kernel: its launch, which threads arrive and poll, how, and accesses to other words.

    `release` and `acquire` are the semantics of the accesses to the counter, or of fences before and after them.
    """

    blocks: int
    threads: int
    rounds: int
    arrives: Literal["thread", "warp", "block"]
    waits: Literal["all", "arriving", "last"]
    operation: Literal["red", "atom"]
    poll: Literal["ld", "or", "cas"]
    release: Literal["release", "acq_rel", "sc", "relaxed"]
    acquire: Literal["acquire", "acq_rel", "sc", "relaxed"]
    scope: str
    memory: Literal["global", "shared"]
    bits: Literal[32, 64]
    distance: int
    others: tuple[str, ...]
    reads_counter: bool

    @property
    def arrivals(self) -> int:
        each = {"thread": self.threads, "warp": -(-self.threads // 32), "block": 1}[self.arrives]
        return self.blocks * each

    @property
    def text(self) -> str:
        """The kernel: parameters are the stored words, the results, and words for the counter and `others`."""
        rounds = (line for number in range(self.rounds) for line in self.round_of(number))
        return HEAD + "\n".join((*self.others, *rounds, "ret;", "}")) + "\n"

    @property
    def at(self) -> str:
        return "[%rd3]" if self.memory == "global" else "[count]"

    @property
    def register(self) -> str:
        return "%r5" if self.bits == 32 else "%rd7"

    def round_of(self, number: int) -> Iterator[str]:
        yield f"add.u32 %r4, %r2, {1 + 1000 * number};"
        yield "st.global.u32 [%rd4], %r4;"
        yield from self.wait_of(2 * number)
        yield f"add.u32 %r3, %r2, {self.distance};"
        yield f"rem.u32 %r3, %r3, {self.blocks * self.threads};"
        yield "mad.wide.u32 %rd5, %r3, 4, %rd1;"
        yield "ld.global.u32 %r6, [%rd5];"
        if self.reads_counter:  # a weak load: adds the number of missing arrivals to the result
            yield f"ld.{self.memory}.u{self.bits} {self.register}, {self.at};"
            yield from ["cvt.u32.u64 %r5, %rd7;"] * (self.bits == 64)
            yield f"sub.u32 %r5, {self.arrivals}, %r5;"
            yield "add.u32 %r6, %r6, %r5;"
        yield "st.global.u32 [%rd6], %r6;"
        if number < self.rounds - 1:
            yield from self.wait_of(2 * number + 1)

    def wait_of(self, number: int) -> Iterator[str]:
        """Yield an arrival, and the wait for all arrivals of this wait and those before it."""
        barrier = {"thread": [], "warp": ["bar.warp.sync 0xffffffff;"], "block": ["bar.sync 0;"]}[self.arrives]
        yield from barrier
        yield f"and.b32 %r7, %r1, { ({'thread': 0, 'warp': 31, 'block': -1}[self.arrives]) };"
        yield "setp.ne.u32 %p1, %r7, 0;"
        yield f"@%p1 bra {'READ' if self.waits == 'last' else 'WAIT'}_{number};"
        yield from self.fence(self.release)
        order = (self.release == "release", self.waits == "last" and self.acquire == "acquire")
        words = {(1, 1): "acq_rel", (1, 0): "release", (0, 1): "acquire", (0, 0): "relaxed"}[order]
        into = f"{self.register}, " if self.operation == "atom" else ""
        yield f"{self.operation}.{words}.{self.scope}.{self.memory}.add.u{self.bits} {into}{self.at}, 1;"
        if self.waits == "last":
            yield f"setp.ne.u{self.bits} %p1, {self.register}, {self.arrivals - 1};"
            yield f"READ_{number}:"
            yield "@%p1 ret;"
            yield from self.fence(self.acquire)
            return
        yield f"WAIT_{number}:"
        yield from [f"@%p1 bra READ_{number};"] * (self.waits == "arriving")
        yield self.polling
        yield f"setp.lt.u{self.bits} %p2, {self.register}, {self.arrivals * (number + 1)};"
        yield f"@%p2 bra WAIT_{number};"
        yield from self.fence(self.acquire)
        yield f"READ_{number}:"
        yield from barrier if self.waits == "arriving" else ()

    def fence(self, semantics: str) -> Iterator[str]:
        if semantics in ("acq_rel", "sc"):
            yield f"fence.{semantics}.{self.scope};"

    @property
    def polling(self) -> str:
        words = f"{'acquire' if self.acquire == 'acquire' else 'relaxed'}.{self.scope}.{self.memory}"
        if self.poll == "ld":
            return f"ld.{words}.u{self.bits} {self.register}, {self.at};"
        return f"atom.{words}.{self.poll}.b{self.bits} {self.register}, {self.at}, 0{', 0' * (self.poll == 'cas')};"

    def weakened(self, weakness: Weakness) -> Counting:
        """Return the kernel without its release, without its acquire, or with CTA scope."""
        if weakness == "scope":
            return replace(self, scope="cta")
        return replace(self, release="relaxed") if weakness == "release" else replace(self, acquire="relaxed")


def drawn(seed: int) -> tuple[Counting, Weakness]:
    """Return a race-free kernel, and a way to weaken it that makes its reads race."""
    chance = Random(seed)
    blocks = chance.choice((1, 1, 2, 3))
    arrives = chance.choice(("thread", "warp", "block")[: 3 if blocks > 1 else 2])
    threads = chance.choice((2, 31, 32, 33, 64, 80) if blocks > 1 or arrives == "thread" else (33, 64, 80))
    scopes = ("cta", "gpu", "sys") if blocks == 1 else ("gpu", "sys")
    others = (
        f"red.relaxed.{chance.choice(scopes)}.global.add.u32 [%rd3+64], 1;",
        f"st.relaxed.{chance.choice(scopes)}.global.u16 [%rd3+128], 7;",
        "st.volatile.global.u32 [%rd3+192], 1;",
        "ld.relaxed.sys.global.u64 %rd8, [%rd3+256];",
        f"atom.acq_rel.{chance.choice(scopes)}.global.exch.b32 %r7, [%rd3+320], %r1;",
    )
    # A barrier, too, orders the words that are stored by the threads for which one thread arrives.
    unit = {"thread": 1, "warp": min(32, threads), "block": threads}[arrives]
    waits = chance.choice(("all", "all", "last") if arrives == "thread" else ("all", "arriving", "last"))
    many = arrives == "thread" and blocks * threads > 80  # accesses by all threads race in pairs if they are weakened
    rounds = 1 if waits == "last" or many else chance.choice((1, 1, 2))
    poll = chance.choice(("ld", "ld", "or", "cas"))
    kernel = Counting(
        blocks,
        threads,
        rounds,
        arrives,
        waits,
        operation="atom" if waits == "last" else chance.choice(("red", "atom")),
        poll=poll,
        release=chance.choice(("release", "acq_rel", "sc")),
        acquire=chance.choice(("acquire", "acquire", "acq_rel", "acq_rel" if waits == "last" else "sc")),
        scope=chance.choice(scopes),
        memory=chance.choice(("global", "shared")) if blocks == 1 else "global",
        bits=chance.choice((32, 64)),
        distance=unit * chance.randrange(1, max(2, blocks * threads // unit)),
        others=tuple(chance.sample(others, chance.randrange(4))),
        reads_counter=rounds == 1 and poll == "ld" and chance.random() < 0.5,
    )
    # The order of `fence.sc` in the run may order the last thread after the others, without an acquire, too.
    ordered = waits == "last" and kernel.release == "sc"
    weaknesses: tuple[Weakness, ...] = ("release",) if ordered else ("release", "acquire")
    return kernel, chance.choice(weaknesses if blocks == 1 else (*weaknesses, "scope"))


def executed(kernel: Counting, seed: int, *, delay_async: bool) -> tuple[bool, set[str]]:
    """Run a kernel; return whether its threads read the words of the threads at `distance`, and the rules of errors."""
    total = kernel.blocks * kernel.threads
    words, seen = np.zeros((2, total), np.uint32)
    result = run(
        kernel.text,
        grid=kernel.blocks,
        block=kernel.threads,
        args=[words, seen, np.zeros(64, np.uint64)],
        seed=seed,
        delay_async=delay_async,
    )
    right = seen == (np.arange(total) + kernel.distance) % total + 1 + 1000 * (kernel.rounds - 1)
    as_many = right.sum() == 1 if kernel.waits == "last" else right.all()
    return bool(as_many), {finding.rule for finding in result.findings if finding.severity == "error"}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_words_counted_by_a_release_and_an_acquire_are_known_and_no_others(chunk: int) -> None:
    for seed in range(chunk, COUNT, CHUNKS):
        kernel, weakness = drawn(seed)
        for schedule, delay_async in SCHEDULES[seed % STEP :: STEP]:
            run_of_kernel = executed(kernel, schedule, delay_async=delay_async)
            assert run_of_kernel == (True, set()), (seed, schedule, kernel.text)
            weak = kernel.weakened(weakness)
            _, found = executed(weak, schedule, delay_async=delay_async)
            assert found & {"global-race", "lane-race"}, (seed, weakness, schedule, weak.text)
