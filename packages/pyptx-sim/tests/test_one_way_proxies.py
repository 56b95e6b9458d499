"""Unidirectional proxies: asynchronous reads through them need a release and an acquire of each word.

The events of a run are synthetic, and the expected findings are computed word by word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from pyptx_sim.extension import Proxy
from pyptx_sim.observer import AsyncAccess, AsyncOperations, Masks
from pyptx_sim.rules.races import RaceChecker

WORD, BYTES = 4, 512
PROXIES = tuple(
    Proxy(name=name, unfenced=f"missing-{name}-fence", one_way=True, reads=name) for name in ("map", "plan")
)
SPACES = ("global", "shared", "vault")
BOTH, ALL = np.array([0, 1]), np.ones((1, 32), np.bool_)


@dataclass
class View:
    """Properties, as in `RunView`, of a synthetic run of one CTA with two warps."""

    found: list[tuple[str, str, int, int | None]] = field(default_factory=list)
    warps: int = 2
    warps_per_cta: int = 2
    cluster_size: int = 1
    narrows_scopes: bool = False
    fences_reads: bool = False
    threads: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = field(default_factory=lambda: np.ones((2, 32), np.bool_))

    def arena_size(self, _space: str) -> int:
        return BYTES

    def shared_stride(self) -> int:
        return BYTES

    def bytes_at(self, _space: str, _offset: int, size: int) -> bytes:
        return bytes(size)

    def opcode(self, _pc: int) -> tuple[str, ...]:
        return ("st",)

    def describe(self, space: str, offset: int) -> str:
        return f"{space}+{offset}"

    def warp_name(self, warp: int) -> str:
        return f"warp {warp} of CTA (0, 0, 0)"

    def report(self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **told: object) -> None:
        del told
        self.found.append((rule, message, pc, other_pc))


class Run:
    """Proxy checker with synthetic events: warp 0 writes and releases, warp 1 acquires and issues."""

    def __init__(self) -> None:
        self.view = View()
        self.checker = RaceChecker(self.view)
        self.checker.wave_started()

    def write(self, space: str, words: range) -> None:
        offsets = np.array(words) * WORD
        lanes = np.arange(len(offsets)) % 32
        self.checker.access(space, "write", offsets, WORD, offsets * 0, lanes, 1)

    def release(self, proxy: Proxy) -> None:
        self.checker.proxy_released(proxy, BOTH[:1], ALL)

    def meet(self) -> None:
        self.checker.barrier(BOTH, np.ones((2, 32), np.bool_), BOTH * 0, 2)

    def acquire(self, proxy: Proxy, space: str, words: range, lanes: Masks = ALL) -> None:
        self.checker.proxy_acquired(proxy, space, words.start * WORD, len(words) * WORD, BOTH[1:], lanes)

    def read(self, proxy: Proxy, space: str, words: range, size: int, warp: int = 1, lane: int = 0) -> set[str]:
        """Issue asynchronous reads at `words`, `size` bytes each; return the rules that they violate."""
        offsets = np.arange(words.start * WORD, words.stop * WORD, size)
        touch = AsyncAccess(space, writes=False, offsets=offsets, size=size, owners=offsets * 0, proxy=proxy)
        one = np.array([1])
        self.view.found.clear()
        self.checker.issued(AsyncOperations(1, 5, None, None, one * warp, one * lane, one * 0, (touch,)))
        return {rule for rule, *_ in self.view.found}


def lane(number: int) -> Masks:
    return np.arange(32)[None] == number


def some(random: np.random.Generator, unit: int = 1) -> range:
    """Return a random range of words, whose ends are multiples of `unit`."""
    first, last = sorted(random.choice(BYTES // WORD // unit + 1, 2, replace=False).tolist())
    return range(first * unit, last * unit)


@pytest.mark.parametrize("seed", range(150))
def test_what_is_written_is_seen_where_it_is_released_and_the_word_is_acquired(seed: int) -> None:
    random = np.random.default_rng(seed)
    run, proxy, space = Run(), PROXIES[seed % 2], SPACES[seed % 3]
    written, size = some(random), (4, 8, 16)[seed // 2 % 3]
    released = [random.random() < 0.9 for _ in PROXIES]
    run.write(space, written)
    for each, tells in zip(PROXIES, released, strict=True):
        if tells:
            run.release(each)
    run.meet()
    seen = set[int]()
    for _ in range(random.integers(1, 4)):
        its, where, words = PROXIES[random.random() < 0.2], SPACES[random.integers(3)], some(random)
        run.acquire(its, where, words)
        if its is proxy and where == space and released[PROXIES.index(proxy)]:
            seen |= set(words)
    read = some(random, size // WORD)
    missing = set(read) & set(written) - seen
    assert run.read(proxy, space, read, size) == ({proxy.unfenced} if missing else set())
    if missing:
        where = f"{space}+{min(missing) * WORD}"
        expected = f"{where} was modified and used without a proxy fence"
        assert run.view.found == [(proxy.unfenced, expected, 5, 1)]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("order", "sound"),
    [
        ("write release meet acquire", True),
        ("write release acquire meet", False),
        ("write meet release acquire", False),
        ("release write meet acquire", False),
        ("acquire write release meet", False),
        ("write release meet acquire write", False),
        ("write release meet acquire write release meet acquire", True),
        ("write release meet acquire write release meet", False),
    ],
)
def test_a_release_an_order_and_an_acquire_stand_in_this_order(order: str, space: str, *, sound: bool) -> None:
    run, words = Run(), range(8, 40)
    steps = {
        "write": lambda: run.write(space, words),
        "release": lambda: run.release(PROXIES[0]),
        "meet": run.meet,
        "acquire": lambda: run.acquire(PROXIES[0], space, words),
    }
    for step in order.split():
        steps[step]()
    assert run.read(PROXIES[0], space, words, 16) == (set() if sound else {PROXIES[0].unfenced})


def test_a_lane_acquires_for_itself() -> None:
    run, words = Run(), range(8)
    run.write("global", words)
    run.release(PROXIES[0])
    run.meet()
    run.acquire(PROXIES[0], "global", words, lane(5))
    assert run.read(PROXIES[0], "global", words, 16, lane=5) == set()
    assert run.read(PROXIES[0], "global", words, 16, lane=6) == {PROXIES[0].unfenced}
    run.checker.warp_sync(BOTH[1:], ALL, 4)
    assert run.read(PROXIES[0], "global", words, 16, lane=6) == set()


@pytest.mark.parametrize("number", [0, 5, 31])
def test_any_lane_of_those_that_acquired_orders_the_acquisition(number: int) -> None:
    run, words = Run(), range(8)
    run.write("global", words)
    run.release(PROXIES[0])
    run.meet()
    run.acquire(PROXIES[0], "global", words)
    run.checker.signal(256, 0, BOTH[1:], lane(number), 4, scope="cta", releases=True)
    run.checker.acquire(256, 0, BOTH[:1], ALL, 4, scope="cta", acquires=True)
    assert run.read(PROXIES[0], "global", words, 16, warp=0, lane=7) == set()


def test_a_later_wave_sees_what_an_earlier_one_wrote_to_global_memory_once_it_has_acquired_it() -> None:
    run, words = Run(), range(8)
    run.write("global", words)
    run.checker.wave_started()
    assert run.read(PROXIES[0], "global", words, 16) == {PROXIES[0].unfenced}
    run.acquire(PROXIES[0], "global", words)
    assert run.read(PROXIES[0], "global", words, 16) == set()


def test_what_work_writes_and_mbarriers_take_no_fence_of_such_a_proxy() -> None:
    run, one = Run(), np.array([1])
    run.write("shared", range(32))
    run.checker.barrier_made(256, 0, 0, 3)
    run.meet()
    touch = AsyncAccess("shared", writes=True, offsets=one * 0, size=16, owners=one * 0, barriers=np.array([256]))
    run.checker.issued(AsyncOperations(1, 5, None, PROXIES[0], one, one * 0, one * 0, (touch,)))
    assert run.view.found == []
