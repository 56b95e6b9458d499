"""Reference implementation of programs: one coroutine per thread, and no code of the simulator.

One thread runs at a time, until it waits for other threads. A value is a number, or None if it is undefined: a register
of an absent lane, shared memory before its first store. Instructions may compute with None and store it. Any other
undefined behavior raises `UndefinedError`: None as an address, a condition or a membermask; an executing lane outside
its membermask; a data race; an arrival that is not ordered after the previous phase; a deadlock.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from . import programs as ast
from .ordering import Clock, Word, refuse
from .programs import FULL, LOCAL, PARAMETERS, VARIABLES, WARP

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

Value: TypeAlias = "int | None"
Names: TypeAlias = "dict[str, Value]"
Steps: TypeAlias = "Generator[_Wait, Value, str]"

STEPS: Final = 100_000  # maximum executed statements of a program; above it, a loop is taken to be endless

OPERATIONS: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "min": min, "max": max, "rem": operator.mod, "mov": lambda a, _: a,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "ge": operator.ge,
    "shl": lambda a, b: a << b if b < WARP else 0, "shr": lambda a, b: a >> b if b < WARP else 0,
    "clz": lambda a, _: WARP - a.bit_length(), "popc": lambda a, _: a.bit_count(),
    "brev": lambda a, _: int(f"{a:032b}"[::-1], 2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of a grid: the words that each thread stores, and the words of global memory."""

    results: tuple[tuple[Value, ...], ...]
    memory: tuple[Value, ...]

    @property
    def defined(self) -> bool:
        """Whether no result of a thread and no word of global memory is undefined."""
        return None not in self.memory and not any(None in row for row in self.results)


def outcome(program: ast.Program, *, backwards: bool = False) -> Outcome:
    """Return the results of a program, or raise `UndefinedError`; if `backwards`, the last thread runs first."""
    return _Grid(program).run(backwards=backwards)


@dataclass(slots=True)
class _Wait:
    """Wait of a thread: `key` is the barrier number, the membermask or the mbarrier phase; 0 for a wait for a flag."""

    statement: Any
    key: Any
    value: Value = 0
    source: int = 0  # source lane of the shuffle at which the thread waits


@dataclass(eq=False, slots=True)
class _Thread:
    number: int
    lane: int
    warp: list[_Thread]
    cta: int
    clock: Clock
    steps: Steps = field(init=False)
    wait: _Wait | None = None
    alive: bool = True
    local: list[Word] = field(default_factory=lambda: [Word(None) for _ in range(LOCAL)])

    def release(self) -> Clock:
        """Return the clock that other threads acquire; it does not include later accesses of this thread."""
        clock = self.clock.copy()
        self.clock[self.number] += 1
        return clock


@dataclass(slots=True)
class _Barrier:
    """A CTA barrier's phase: waiting threads by warp, clocks of arrivals, and threads that waited in the last phase."""

    waits: dict[int, list[_Thread]] = field(default_factory=dict)
    clocks: list[Clock] = field(default_factory=list)
    agreed: Any = None
    last: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _MBarrier:
    """An mbarrier; `last` is the clock that the last phase, or the initialization, released."""

    count: int
    last: Clock
    pending: int = 0
    phase: int = 0
    clocks: list[Clock] = field(default_factory=list)


class _Grid:
    def __init__(self, program: ast.Program) -> None:
        self.program = program
        self.inputs = program.inputs()
        self.functions = {each.name: each for each in program.functions}
        self.memory = [Word(0) for _ in range(program.memory)]
        self.shared = [[Word(None) for _ in range(program.shared)] for _ in range(program.ctas)]
        self.barriers: dict[tuple[int, int], _Barrier] = {}
        self.mbarriers: dict[tuple[int, int], _MBarrier] = {}
        self.flags: dict[int, tuple[int, Clock]] = {}
        self.released: dict[int, Clock] = {}  # by word of global memory: clock that .acq_rel atomics have released
        self.left = STEPS
        self.threads: list[_Thread] = []
        size = program.ctas * program.threads
        self.results: list[list[Value]] = [[0] * len(VARIABLES) for _ in range(size)]
        for number in range(size):
            cta, tid = divmod(number, program.threads)
            warp = self.threads[-1].warp if tid % WARP else []
            self.threads.append(_Thread(number, tid % WARP, warp, cta, np.zeros(size, np.int32)))
            self.threads[-1].clock[number] = 1
            warp.append(self.threads[-1])

    def run(self, *, backwards: bool) -> Outcome:
        order = self.threads[::-1] if backwards else self.threads
        for thread in order:
            thread.steps = self.whole(thread)
            self.resume(thread, None)
        while any([thread.wait and self.advance(thread, thread.wait) for thread in order]):  # noqa: C419 - all of them
            pass
        refuse(any(thread.alive for thread in order), "deadlock")
        return Outcome(tuple(map(tuple, self.results)), tuple(word.value for word in self.memory))

    def resume(self, thread: _Thread, value: Value) -> None:
        try:
            thread.wait = thread.steps.send(value)
        except StopIteration:
            thread.wait, thread.alive = None, False

    # --- statements -------------------------------------------------------------------------------

    def whole(self, thread: _Thread) -> Steps:
        tid = thread.number % self.program.threads
        numbers = {"tid": tid, "lane": thread.lane, "warp": tid // WARP, "cta": thread.cta, "gid": thread.number}
        names: Names = dict(zip(VARIABLES, self.inputs[thread.number], strict=True)) | numbers
        if (yield from self.body(thread, names, self.program.body)) != "exit":
            self.results[thread.number] = [names[name] for name in VARIABLES]
        return ""

    def body(self, thread: _Thread, names: Names, body: ast.Body) -> Steps:
        """Execute a thread's statements; return "" at their end, or the reason for leaving the statement list early."""
        for each in body:
            self.left -= 1
            refuse(self.left < 0, "an endless loop")
            why = ""
            match each:
                case ast.Let(d, op, a, b):
                    names[d] = _operated(op, _value(names, a), _value(names, b))
                case ast.Select(d, c, a, b):
                    names[d] = _value(names, a if _sure(names, c) else b)
                case ast.If(condition, then, other):
                    why = yield from self.body(thread, names, then if _sure(names, condition) else other)
                case ast.Loop():
                    why = yield from self.loop(thread, names, each)
                case ast.Flow():
                    why = yield from self.flow(thread, names, each)
                case ast.Exit(condition, stores):
                    why = ("end" if stores else "exit") if _sure(names, condition) else ""
                case ast.Jump(condition):
                    why = type(each).__name__ if _sure(names, condition) else ""
                case ast.Call():
                    why = yield from self.call(thread, names, each)
                case ast.Load() | ast.Store() | ast.Atomic():
                    self.access(thread, names, each)
                case ast.Initialize() | ast.Signal() | ast.Publish():
                    self.signal(thread, each)
                case _:
                    yield from self.wait(thread, names, each)
            if why:
                return why
        return ""

    def loop(self, thread: _Thread, names: Names, each: ast.Loop) -> Steps:
        names[each.counter] = 0
        while _sure(names, each.counter) < _sure(names, each.count):
            why = yield from self.body(thread, names, each.body)
            if why == "Break":
                break
            if why not in ("", "Continue"):
                return why
            names[each.counter] = _operated("add", names[each.counter], 1)
        return ""

    def flow(self, thread: _Thread, names: Names, each: ast.Flow) -> Steps:
        names[each.counter], at = each.fuel, 0
        while at < len(each.blocks):
            why = yield from self.body(thread, names, each.blocks[at])
            names[each.counter] = _operated("sub", names[each.counter], 1)
            if why or not names[each.counter]:
                return why
            operand, targets = each.jumps[at]
            taken = _sure(names, operand)
            at = targets[taken % 4] if len(targets) > 1 else targets[0] if taken else at + 1
        return ""

    def call(self, thread: _Thread, names: Names, each: ast.Call) -> Steps:
        function = self.functions.get(each.function)
        refuse(function is None, "no function", each.function)
        values = (_value(names, value) for value in (each.a, each.b, each.mask))
        inner: Names = dict(zip(PARAMETERS, values, strict=True)) | {"lane": thread.lane}
        why = yield from self.body(thread, inner, function.body)
        names[each.d] = _value(inner, function.result)
        return why if why in ("end", "exit") else ""

    def wait(self, thread: _Thread, names: Names, each: Any) -> Generator[_Wait, Value, None]:
        """Wait for the other threads of a warp or CTA operation, then write the operation's result."""
        match each:
            case ast.Sync() | ast.Arrive() | ast.SyncReduce():
                key = _sure(names, each.name)
                value: Value = int(bool(_sure(names, each.a))) if isinstance(each, ast.SyncReduce) else 0
            case ast.Await() | ast.Poll():
                key, value = _sure(names, each.phase) if isinstance(each, ast.Await) else 0, 0
            case _:
                key = _sure(names, each.mask)
                value = _value(names, each.a) if hasattr(each, "a") else 0
                refuse(not key >> thread.lane & 1, "lane is not in its membermask", thread.lane, key, each)
        source, in_range = thread.lane, 0
        if isinstance(each, ast.Shuffle):
            source, in_range = _source(thread.lane, each, _sure(names, each.b) % WARP)
        result = yield _Wait(each, key, value, source)
        if isinstance(each, ast.Elect) and result:
            word = self.memory[each.base]
            word.update(thread.number, thread.clock, _operated("add", word.value, 1))
        elif hasattr(each, "d"):
            names[each.d] = result
        if isinstance(each, ast.Shuffle | ast.Match) and each.p is not None:
            names[each.p] = in_range if isinstance(each, ast.Shuffle) else int(bool(result))

    # --- synchronization --------------------------------------------------------------------------

    def advance(self, thread: _Thread, wait: _Wait) -> bool:
        """Resume a waiting thread, and the threads that wait with it, if the condition of the wait holds."""
        match wait.statement:
            case ast.Sync() | ast.Arrive() | ast.SyncReduce():
                return self.arrive(thread, wait)
            case ast.Await():
                return self.wait_phase(thread, wait)
            case ast.Poll():
                value, clock = self.flags.get(wait.statement.base, (0, thread.clock))
                return self.acquire(thread, clock, value == wait.statement.a)
        lanes = [each for each in thread.warp if each.alive and wait.key >> each.lane & 1]
        if any(not one.wait or one.wait.statement is not wait.statement or one.wait.key != wait.key for one in lanes):
            return False
        values = {each.lane: each.wait.value for each in lanes if each.wait}
        results = [_together(wait.statement, values, each.lane, each.wait.source) for each in lanes if each.wait]
        if isinstance(wait.statement, ast.WarpSync):
            self.join([each.release() for each in lanes], lanes)
        for each, result in zip(lanes, results, strict=True):
            self.resume(each, result)
        return True

    def join(self, clocks: list[Clock], threads: Iterable[_Thread]) -> None:
        clock = np.maximum.reduce(clocks)
        for each in threads:
            np.maximum(each.clock, clock, out=each.clock)

    def arrive(self, thread: _Thread, wait: _Wait) -> bool:
        """Count a warp as arrived at a CTA barrier after all its live threads; the last warp completes the phase."""
        barrier = self.barriers.setdefault((thread.cta, wait.key), _Barrier())
        lanes, here, number = [each for each in thread.warp if each.alive], wait.statement, thread.warp[0].number
        if barrier.waits.get(number) or thread is not lanes[0]:
            return False
        waits = [each.wait for each in lanes if each.wait]
        if len(waits) < len(lanes) or any(not hasattr(one.statement, "name") or one.key != wait.key for one in waits):
            return False
        agreed = {(type(one.statement) is ast.SyncReduce, one.statement.count) for one in waits}
        aligned = any("aligned" in one.statement.form or one.statement.form.startswith("bar.") for one in waits)
        agreed |= {barrier.agreed} if barrier.waits else set()
        sites = {id(one.statement) if aligned else type(one.statement) for one in waits}
        refuse(len(agreed) > 1 or len(sites) > 1, "threads use one barrier in different ways", agreed, here)
        refuse(number in barrier.waits, "a warp arrives twice in one phase", here)
        ordered = any(each.clock[other] >= epoch for each in lanes for other, epoch in barrier.last)
        refuse(barrier.last and not ordered, "arrival is not ordered after the previous phase", here)
        (barrier.agreed,) = agreed
        barrier.waits[number] = [] if isinstance(here, ast.Arrive) else lanes
        barrier.clocks += [each.release() for each in lanes]
        for each in lanes if isinstance(here, ast.Arrive) else ():
            self.resume(each, 0)
        self.complete((thread.cta, wait.key), barrier)
        return True

    def complete(self, key: tuple[int, int], barrier: _Barrier) -> None:
        """Complete a CTA barrier's phase and resume its waiting threads, if all warps have arrived."""
        count = barrier.agreed[1]
        if len(barrier.waits) < -(-self.program.threads // WARP if count is None else -count // WARP):
            return
        exited = count is None and not all(each.alive for each in self.threads if each.cta == key[0])
        refuse(exited, "threads of the CTA have exited before its barrier")
        waiting = [each for lanes in barrier.waits.values() for each in lanes]
        refuse(not waiting, "no thread waits for the phase", key)
        predicates = [bool(each.wait.value) for each in waiting if each.wait]
        results = {"or": any(predicates), "and": all(predicates), "popc": sum(predicates)}
        self.join(barrier.clocks, waiting)
        last = [(each.number, int(each.clock[each.number])) for each in waiting]
        self.barriers[key] = _Barrier(last=last)
        for each in waiting:
            here: Any = each.wait and each.wait.statement
            self.resume(each, int(results[here.op]) if isinstance(here, ast.SyncReduce) else 0)

    def signal(self, thread: _Thread, each: ast.Initialize | ast.Signal | ast.Publish) -> None:
        if isinstance(each, ast.Publish):
            refuse(each.base in self.flags, "a flag is set twice")
            self.flags[each.base], self.memory[each.base].value = (each.a, thread.release()), each.a
            return
        bar = self.mbarriers.get((thread.cta, each.bar))
        if isinstance(each, ast.Initialize):
            refuse(bar, "an mbarrier is initialized twice")
            self.mbarriers[thread.cta, each.bar] = _MBarrier(each.count, thread.release(), each.count)
        else:
            refuse(not bar or (thread.clock < bar.last).any(), "arrival is not ordered after the previous phase", each)
            bar.clocks.append(thread.release())
            bar.pending -= 1
            if not bar.pending:
                bar.phase, bar.pending = bar.phase + 1, bar.count
                bar.last, bar.clocks = np.maximum.reduce(bar.clocks), []

    def wait_phase(self, thread: _Thread, wait: _Wait) -> bool:
        bar = self.mbarriers.get((thread.cta, wait.statement.bar))
        refuse(not bar or bar.phase not in (wait.key, wait.key + 1), "a wait for a phase that may be missed")
        return self.acquire(thread, bar.last, bar.phase > wait.key)

    def acquire(self, thread: _Thread, clock: Clock, ready: bool) -> bool:  # noqa: FBT001 - the result
        if ready:
            np.maximum(thread.clock, clock, out=thread.clock)
            self.resume(thread, 0)
        return ready

    # --- memory -----------------------------------------------------------------------------------

    def access(self, thread: _Thread, names: Names, each: ast.Load | ast.Store | ast.Atomic) -> None:
        words = {"global": self.memory, "shared": self.shared[thread.cta], "local": thread.local}[each.space]
        at = each.base + _sure(names, each.index)
        refuse(at >= len(words), "out of bounds", each)
        word, number, clock = words[at], thread.number, thread.clock
        if isinstance(each, ast.Load):
            names[each.d] = word.load(number, clock)
        elif isinstance(each, ast.Store):
            word.store(number, clock, _value(names, each.a))
        else:
            names[each.d or ""] = word.update(number, clock, _operated(each.op, word.value, _value(names, each.a)))
            if each.acq_rel:  # acquire: synchronize with all earlier .acq_rel atomics on the word
                np.maximum(clock, self.released.get(at, clock), out=clock)
                self.released[at] = thread.release()


def _value(names: Names, operand: ast.Operand) -> Value:
    if isinstance(operand, int):
        return operand & FULL
    refuse(operand not in names, "register is not written", operand)
    return names[operand]


def _sure(names: Names, operand: ast.Operand) -> int:
    value = _value(names, operand)
    refuse(value is None, "an address, condition or membermask is undefined", operand)
    return value


def _operated(op: str, a: Value, b: Value) -> Value:
    return None if a is None or b is None else int(OPERATIONS[op](a, b)) & FULL


def _source(lane: int, each: ast.Shuffle, b: int) -> tuple[int, int]:
    """Return the source lane of a shuffle, and 1 if it is in range, else 0. Manual: "shfl.sync"."""
    segment = each.c >> 8 & 31
    most, least = lane & segment | each.c & 31 & ~segment, lane & segment
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | b & ~segment}[each.mode]
    in_range = source >= most if each.mode == "up" else source <= most
    return (source, 1) if in_range else (lane, 0)


def _together(each: Any, values: dict[int, Value], lane: int, source: int) -> Value:
    """Return a lane's result of a warp instruction; `values` are the operands by lane."""
    if isinstance(each, ast.Shuffle):
        return values.get(source)
    if isinstance(each, ast.Elect | ast.WarpSync):
        return int(lane == min(values))
    refuse(None in values.values(), "an operand is undefined", each)
    bits = [value for value in values.values() if value is not None]
    if isinstance(each, ast.Reduce):
        return int(reduce(OPERATIONS[each.op], bits)) & FULL
    if isinstance(each, ast.Match):
        alike = sum(1 << other for other, value in values.items() if each.mode == "all" or value == values[lane])
        return alike if each.mode == "any" or len(set(bits)) == 1 else 0
    holds = [bool(value) for value in bits]
    ballot = sum(1 << other for other, value in values.items() if value)
    return int({"all": all(holds), "any": any(holds), "uni": len(set(holds)) == 1, "ballot": ballot}[each.mode])
