"""What a program computes, by one coroutine for each thread: a second opinion that shares nothing with the simulator.

Threads run one after the other, each until it waits for others. A value is a number, or None where it is undefined: the
register of a lane that a shuffle could not read, shared memory before its first store. None may be computed with, stored
and dropped, as undefined bits are on the simulator. Whatever else the manual leaves open raises `Undefined`: None as an
address, a condition or a mask; lanes that their mask does not name; accesses that race, by vector clocks; a phase
that a waiting thread could miss; a grid that stops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from .programs import FULL, PARAMETERS, VARIABLES, WARP

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from . import programs as ast

Value: TypeAlias = "int | None"
Clock: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"
Steps: TypeAlias = "Generator[_Wait, Value, str]"

STEPS: Final = 200_000  # statements of a grid: more are an endless loop

OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b if b < WARP else 0,
    "shr": lambda a, b: a >> b if b < WARP else 0,
    "min": min,
    "max": max,
    "rem": lambda a, b: a % b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "mov": lambda a, _: a,
    "clz": lambda a, _: WARP - a.bit_length(),
    "brev": lambda a, _: int(f"{a:032b}"[::-1], 2),
    "popc": lambda a, _: a.bit_count(),
}


class Undefined(Exception):
    """The manual does not say what the program does."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the grid leaves: the results of each thread, and the words of global memory."""

    results: tuple[tuple[Value, ...], ...]
    memory: tuple[Value, ...]

    @property
    def defined(self) -> bool:
        """Whether all of it is defined."""
        return None not in self.memory and not any(None in row for row in self.results)


def outcome(program: ast.Program, *, backwards: bool = False) -> Outcome:
    """Return what a program leaves, or raise `Undefined`; threads run `backwards` in the opposite order."""
    return _Grid(program).run(backwards=backwards)


@dataclass(slots=True)
class _Wait:
    """What a thread waits for: `met` is the statement, `key` what those who meet there have to agree on."""

    kind: str
    met: ast.Statement
    key: Any
    value: Value = 0


@dataclass(eq=False, slots=True)
class _Thread:
    number: int
    tid: int
    cta: int
    clock: Clock
    steps: Steps = field(init=False)
    wait: _Wait | None = None
    alive: bool = True

    @property
    def lane(self) -> int:
        return self.tid % WARP

    @property
    def epoch(self) -> int:
        return int(self.clock[self.number])


@dataclass(slots=True)
class _Word:
    """A word of memory: its value, and the accesses that later ones have to know of, as epochs by thread."""

    value: Value
    writes: dict[int, int] = field(default_factory=dict)
    reads: dict[int, int] = field(default_factory=dict)
    updates: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Barrier:
    """A phase of a barrier or an mbarrier: arrivals so far, and what is known behind the last phase that completed."""

    clock: Clock
    warps: dict[int, list[_Thread]] = field(default_factory=dict)
    reduces: bool | None = None
    need: int | None = None
    last: Clock | None = None
    waiters: list[tuple[int, int]] = field(default_factory=list)  # who waited for it: threads and epochs
    phase: int = 0
    pending: int = 0
    count: int = 0


class _Grid:
    def __init__(self, program: ast.Program) -> None:
        self.program = program
        size = program.ctas * program.threads
        self.threads = [
            _Thread(gid, gid % program.threads, gid // program.threads, np.zeros(size, np.int32)) for gid in range(size)
        ]
        for thread in self.threads:
            thread.clock[thread.number] = 1
        self.inputs = program.inputs()
        self.functions = {each.name: each for each in program.functions}
        self.memory = [_Word(0) for _ in range(program.memory)]
        self.shared = [[_Word(None) for _ in range(program.shared)] for _ in range(program.ctas)]
        self.barriers: dict[tuple[int, int], _Barrier] = {}
        self.mbarriers: dict[tuple[int, int], _Barrier] = {}
        self.flags: dict[int, tuple[int, Clock]] = {}
        self.results: list[list[Value]] = [[0] * len(VARIABLES) for _ in range(size)]
        self.left = STEPS

    def run(self, *, backwards: bool) -> Outcome:
        order = self.threads[::-1] if backwards else self.threads
        for thread in order:
            thread.steps = self.whole(thread)
            self.resume(thread, None)
        while any(thread.alive for thread in order):
            moved = [thread for thread in order if thread.alive and thread.wait and self.met(thread)]
            if not moved:
                raise Undefined("no thread can go on")
        return Outcome(tuple(map(tuple, self.results)), tuple(word.value for word in self.memory))

    def resume(self, thread: _Thread, value: Value) -> None:
        try:
            thread.wait = thread.steps.send(value)
        except StopIteration:
            thread.wait, thread.alive = None, False

    # --- threads ----------------------------------------------------------------------------------

    def whole(self, thread: _Thread) -> Steps:
        names: dict[str, Value] = dict(zip(VARIABLES, self.inputs[thread.number], strict=True))
        names |= {"tid": thread.tid, "lane": thread.lane, "warp": thread.tid // WARP}
        names |= {"cta": thread.cta, "gid": thread.number}
        if (yield from self.body(thread, names, self.program.body)) != "exit":
            self.results[thread.number] = [names[name] for name in VARIABLES]
        return "exit"

    def body(self, thread: _Thread, names: dict[str, Value], body: ast.Body) -> Steps:
        """Execute statements; return "" at their end, or why they ended before: break, continue, return, end, exit."""
        for each in body:
            self.left -= 1
            if self.left < 0:
                raise Undefined("an endless loop")
            kind = type(each).__name__
            if simple := _SIMPLE.get(kind):
                simple(self, thread, names, each)
                continue
            why = yield from _STEPS[kind](self, thread, names, each)
            if why:
                return why
        return ""

    def branch(self, thread: _Thread, names: dict[str, Value], each: ast.If) -> Steps:
        return (yield from self.body(thread, names, each.then if _sure(names, each.condition) else each.other))

    def loop(self, thread: _Thread, names: dict[str, Value], each: ast.Loop) -> Steps:
        names[each.counter] = 0
        while _sure(names, each.counter) < _sure(names, each.count):
            why = yield from self.body(thread, names, each.body)
            if why == "break":
                break
            if why not in ("", "continue"):
                return why
            names[each.counter] = (_sure(names, each.counter) + 1) & FULL
        return ""

    def leave(self, _: _Thread, names: dict[str, Value], each: Any) -> Steps:
        yield from ()
        if not _sure(names, each.condition):
            return ""
        kind = type(each).__name__.lower()
        return kind if kind != "exit" else "end" if each.stores else "exit"

    def call(self, thread: _Thread, names: dict[str, Value], each: ast.Call) -> Steps:
        function, values = self.functions.get(each.function), (each.a, each.b, each.mask)
        if function is None:
            raise Undefined(f"no function {each.function}")
        inner = dict(zip(PARAMETERS, (_value(names, value) for value in values), strict=True)) | {"lane": thread.lane}
        why = yield from self.body(thread, inner, function.body)
        if why in ("end", "exit"):
            return why
        names[each.d] = _value(inner, function.result)
        return ""

    # --- meeting others ---------------------------------------------------------------------------

    def collective(self, thread: _Thread, names: dict[str, Value], each: Any) -> Steps:
        mask = _sure(names, each.mask)
        if not mask >> thread.lane & 1:
            raise Undefined(f"lane {thread.lane} is not in its mask {mask:#x}: {each}")
        value = _value(names, each.a) if hasattr(each, "a") else 0
        source = _sure(names, each.b) % WARP if hasattr(each, "b") else 0
        met = yield _Wait("warp", each, (mask, source), value)
        if type(each).__name__ == "Elect" and met:
            self.update(thread, names, self.memory[each.base], "add", 1)
        elif hasattr(each, "d"):
            names[each.d] = met
        if getattr(each, "p", None):
            names[each.p] = int(bool(met)) if hasattr(each, "mode") and each.mode == "all" else _source(thread.lane, each, source)[1]
        return ""

    def barrier(self, thread: _Thread, names: dict[str, Value], each: Any) -> Steps:
        value = int(bool(_sure(names, each.a))) if hasattr(each, "a") else 0
        met = yield _Wait("barrier", each, _sure(names, each.name), value)
        if hasattr(each, "d"):
            names[each.d] = met
        return ""

    def mbarrier(self, thread: _Thread, names: dict[str, Value], each: ast.Await) -> Steps:
        yield _Wait("mbarrier", each, _sure(names, each.phase))
        return ""

    def poll(self, thread: _Thread, names: dict[str, Value], each: ast.Poll) -> Steps:
        yield _Wait("flag", each, each.base)
        return ""

    def met(self, thread: _Thread) -> bool:
        """Let a thread go on, with those that it waits for, if they have come."""
        assert thread.wait
        return {"warp": self.meet_lanes, "barrier": self.meet_warps, "mbarrier": self.see, "flag": self.seen}[
            thread.wait.kind
        ](thread, thread.wait)

    def warp(self, thread: _Thread) -> list[_Thread]:
        """Return the live threads of a thread's warp."""
        start = thread.number - thread.lane
        end = min(start + WARP, (thread.cta + 1) * self.program.threads)
        return [each for each in self.threads[start:end] if each.alive]

    def meet_lanes(self, thread: _Thread, wait: _Wait) -> bool:
        lanes = [each for each in self.warp(thread) if wait.key[0] >> each.lane & 1]
        if any(not each.wait or each.wait.met is not wait.met or each.wait.key[0] != wait.key[0] for each in lanes):
            return False
        values = {each.lane: each.wait.value for each in lanes if each.wait}
        results = [_together(wait.met, values, each.lane, each.wait.key[1]) for each in lanes if each.wait]
        if type(wait.met).__name__ == "WarpSync":
            self.join(lanes, lanes)
        for each, result in zip(lanes, results, strict=True):
            self.resume(each, result)
        return True

    def meet_warps(self, thread: _Thread, wait: _Wait) -> bool:
        """Count a warp as arrived once all its live threads have come; end the phase with the last one."""
        key, lanes, met = (thread.cta, wait.key), self.warp(thread), wait.met
        barrier = self.barriers.setdefault(key, _Barrier(np.zeros(len(self.threads), np.int32)))
        waits = [each.wait for each in lanes]
        if any(one is None or (one.kind, one.key) != ("barrier", wait.key) for one in waits):
            return False
        kinds = {type(one.met).__name__ for one in waits if one}
        forms = {one.met for one in waits if one}
        if any("aligned" in each.form or each.form.startswith("bar.") for each in forms) and len({id(one.met) for one in waits if one}) > 1:
            raise Undefined(f"lanes of a warp are at several aligned barriers: {forms}")
        if len({(one.met.count, type(one.met) is type(met)) for one in waits if one}) > 1:
            raise Undefined(f"lanes of a warp name different counts: {forms}")
        reduces = "SyncReduce" in kinds
        if thread.tid // WARP not in barrier.warps:
            self.arrive(barrier, thread, lanes, met, reduces=reduces)
            if kinds == {"Arrive"}:
                for each in lanes:
                    self.resume(each, 0)
                return self.complete(key, barrier) or True
        elif kinds == {"Arrive"}:
            raise Undefined(f"a warp arrives twice: {met}")
        return self.complete(key, barrier)

    def arrive(self, barrier: _Barrier, thread: _Thread, lanes: list[_Thread], met: Any, *, reduces: bool) -> None:
        if barrier.warps and (barrier.reduces != reduces or barrier.need != met.count):
            raise Undefined(f"forms or counts differ at one barrier: {met}")
        if barrier.waiters and not any(
            lane.clock[who] >= epoch for lane in lanes for who, epoch in barrier.waiters
        ):
            raise Undefined(f"nothing orders the arrival behind the last phase: {met}")
        barrier.reduces, barrier.need = reduces, met.count
        barrier.warps[thread.tid // WARP] = lanes if type(met).__name__ != "Arrive" else []
        for lane in lanes:
            np.maximum(barrier.clock, lane.clock, out=barrier.clock)
            lane.clock[lane.number] += 1

    def complete(self, key: tuple[int, int], barrier: _Barrier) -> bool:
        live = {each.tid // WARP for each in self.threads if each.alive and each.cta == key[0]}
        if len(barrier.warps) < (len(live) if barrier.need is None else barrier.need // WARP):
            return False
        if barrier.need is None and any(not each.alive for each in self.threads if each.cta == key[0]):
            raise Undefined("threads of the CTA have exited before its barrier")
        waiting = [thread for lanes in barrier.warps.values() for thread in lanes]
        held = [thread.wait.value for thread in waiting if thread.wait]
        results = {"or": any(held), "and": all(held), "popc": sum(map(bool, held))}
        self.barriers[key] = _Barrier(np.zeros(len(self.threads), np.int32))
        for thread in waiting:
            np.maximum(thread.clock, barrier.clock, out=thread.clock)
        self.barriers[key].waiters = [(thread.number, thread.epoch) for thread in waiting]
        for thread in waiting:
            met: Any = thread.wait and thread.wait.met
            self.resume(thread, int(results[met.op]) if hasattr(met, "op") else 0)
        return True

    def join(self, sources: Sequence[_Thread], targets: Sequence[_Thread]) -> None:
        """Let some threads know what others have done."""
        clock = np.maximum.reduce([each.clock for each in sources])
        for each in targets:
            np.maximum(each.clock, clock, out=each.clock)
        for each in sources:
            each.clock[each.number] += 1

    def initialize(self, thread: _Thread, _: dict[str, Value], each: ast.Initialize) -> None:
        clock = thread.clock.copy()
        thread.clock[thread.number] += 1
        bar = _Barrier(np.zeros(len(self.threads), np.int32), last=clock, pending=each.count, count=each.count)
        if self.mbarriers.setdefault((thread.cta, each.bar), bar) is not bar:
            raise Undefined("an mbarrier is initialized twice")

    def known(self, thread: _Thread, number: int) -> _Barrier:
        """Return an mbarrier whose last phase, or initialization, the thread knows of."""
        bar = self.mbarriers.get((thread.cta, number))
        if bar is None or bar.last is None:
            raise Undefined("no mbarrier")
        return bar

    def signal(self, thread: _Thread, _: dict[str, Value], each: ast.Signal) -> None:
        bar = self.known(thread, each.bar)
        if bar.last is not None and (thread.clock < bar.last).any():
            raise Undefined("an arrival that nothing orders behind the last phase")
        np.maximum(bar.clock, thread.clock, out=bar.clock)
        thread.clock[thread.number] += 1
        bar.pending -= 1
        if not bar.pending:
            bar.phase, bar.pending, bar.last = bar.phase + 1, bar.count, bar.clock
            bar.clock = np.zeros(len(self.threads), np.int32)

    def see(self, thread: _Thread, wait: _Wait) -> bool:
        met: Any = wait.met
        bar = self.known(thread, met.bar)
        if bar.phase not in (wait.key, wait.key + 1):
            raise Undefined("a wait for a phase that is two away")
        if bar.phase == wait.key:
            return False
        assert bar.last is not None
        np.maximum(thread.clock, bar.last, out=thread.clock)
        self.resume(thread, 0)
        return True

    # --- memory -----------------------------------------------------------------------------------

    def word(self, thread: _Thread, names: dict[str, Value], each: Any) -> _Word:
        words = self.memory if each.space == "global" else self.shared[thread.cta]
        at = each.base + _sure(names, each.index)
        if at >= len(words):
            raise Undefined(f"out of bounds: {each}")
        return words[at]

    def check(self, thread: _Thread, *accesses: dict[int, int]) -> None:
        for known in accesses:
            if any(thread.clock[other] < epoch for other, epoch in known.items()):
                raise Undefined(f"thread {thread.number} races with {known}")

    def load(self, thread: _Thread, names: dict[str, Value], each: ast.Load) -> None:
        word = self.word(thread, names, each)
        self.check(thread, word.writes, word.updates)
        word.reads[thread.number] = thread.epoch
        names[each.d] = word.value

    def store(self, thread: _Thread, names: dict[str, Value], each: ast.Store) -> None:
        word = self.word(thread, names, each)
        self.check(thread, word.writes, word.updates, word.reads)
        word.writes, word.reads, word.updates = {thread.number: thread.epoch}, {}, {}
        word.value = _value(names, each.a)

    def atomic(self, thread: _Thread, names: dict[str, Value], each: ast.Atomic) -> None:
        old = self.update(thread, names, self.word(thread, names, each), each.op, _value(names, each.a))
        if each.d is not None:
            names[each.d] = old

    def update(self, thread: _Thread, _: dict[str, Value], word: _Word, op: str, value: Value) -> Value:
        self.check(thread, word.writes, word.reads)
        word.updates[thread.number] = thread.epoch
        old, word.value = word.value, _operated(op, word.value, value)
        if value is None or old is None:
            raise Undefined("an atomic operation on an undefined value")
        return old

    def publish(self, thread: _Thread, _: dict[str, Value], each: ast.Publish) -> None:
        if each.base in self.flags:
            raise Undefined("a flag is set twice")
        self.flags[each.base] = (each.a, thread.clock.copy())
        self.memory[each.base].value = each.a
        thread.clock[thread.number] += 1

    def seen(self, thread: _Thread, wait: _Wait) -> bool:
        met: Any = wait.met
        value, clock = self.flags.get(met.base, (0, thread.clock))
        if value != met.a:
            return False
        np.maximum(thread.clock, clock, out=thread.clock)
        self.resume(thread, 0)
        return True

    def let(self, _: _Thread, names: dict[str, Value], each: ast.Let) -> None:
        names[each.d] = _operated(each.op, _value(names, each.a), _value(names, each.b))

    def select(self, _: _Thread, names: dict[str, Value], each: ast.Select) -> None:
        names[each.d] = _value(names, each.a if _sure(names, each.c) else each.b)


_SIMPLE: Final[dict[str, Callable[..., None]]] = {
    "Let": _Grid.let, "Select": _Grid.select, "Load": _Grid.load, "Store": _Grid.store, "Atomic": _Grid.atomic,
    "Initialize": _Grid.initialize, "Signal": _Grid.signal, "Publish": _Grid.publish,
}  # fmt: skip
_STEPS: Final[dict[str, Callable[..., Steps]]] = {
    "If": _Grid.branch, "Loop": _Grid.loop, "Call": _Grid.call, "Await": _Grid.mbarrier, "Poll": _Grid.poll,
    **dict.fromkeys(("Break", "Continue", "Exit", "Return"), _Grid.leave),
    **dict.fromkeys(("Shuffle", "Vote", "Match", "Reduce", "Elect", "WarpSync"), _Grid.collective),
    **dict.fromkeys(("Sync", "Arrive", "SyncReduce"), _Grid.barrier),
}  # fmt: skip


def _value(names: dict[str, Value], operand: ast.Operand) -> Value:
    if isinstance(operand, int):
        return operand & FULL
    if operand not in names:
        raise Undefined(f"register {operand} is not written")
    return names[operand]


def _sure(names: dict[str, Value], operand: ast.Operand) -> int:
    value = _value(names, operand)
    if value is None:
        raise Undefined(f"register {operand} decides something, and is undefined")
    return value


def _operated(op: str, a: Value, b: Value) -> Value:
    return None if a is None or b is None else int(OPERATIONS[op](a, b)) & FULL


def _source(lane: int, each: Any, b: int) -> tuple[int, int]:
    """Return the source lane of a shuffle, and whether it is in range. Manual: "shfl.sync"."""
    clamp, segment = each.c % WARP, each.c >> 8 & 31
    most, least = lane & segment | clamp & ~segment, lane & segment
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | b & ~segment}[each.mode]
    in_range = source >= most if each.mode == "up" else source <= most
    return (source, 1) if in_range else (lane, 0)


def _together(met: Any, values: dict[int, Value], lane: int, b: int) -> Value:
    """Return what a lane gets from an instruction that some lanes of its warp execute with these values."""
    kind = type(met).__name__
    if kind == "Shuffle":
        return values.get(_source(lane, met, b)[0])
    if kind == "Elect":
        return int(lane == min(values))
    if kind == "WarpSync":
        return 0
    if None in values.values():
        raise Undefined(f"an undefined value decides: {met}")
    known = {lane: value for lane, value in values.items() if value is not None}
    bits = list(known.values())
    if kind == "Reduce":
        total = bits[0]
        for each in bits[1:]:
            total = OPERATIONS[met.op](total, each)
        return total & FULL
    if kind == "Match":
        alike = sum(1 << other for other, value in known.items() if met.mode == "all" or value == known[lane])
        return alike if met.mode == "any" or len(set(bits)) == 1 else 0
    holds = [bool(value) for value in bits]
    ballot = sum(1 << other for other, value in known.items() if value)
    return {"all": all(holds), "any": any(holds), "uni": len(set(holds)) == 1, "ballot": ballot}[met.mode] + 0
