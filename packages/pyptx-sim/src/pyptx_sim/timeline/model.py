"""Data of a timeline. All times are ticks, see `Clock`; all positions are pcs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind: TypeAlias = Literal["run", "wait", "async"]
MarkKind: TypeAlias = Literal["barrier", "phase", "finding"]

# Maximum number of spans, marks, arrows and mbarrier states each in a timeline: Perfetto opens such a file (100 MB).
KEPT = 400_000


class Track(NamedTuple):
    """Track of the timeline: a row for a warp split or an engine (unit of asynchronous operations); sorted by fields.

    `cta`: number of the CTA in launch order. If `engine` is None, `number` is a warp of the CTA and `part` the first
    lane of a warp split. Otherwise, `part` distinguishes simultaneous operations of the engine.
    """

    cta: int
    engine: str | None
    number: int
    part: int

    @property
    def name(self) -> str:
        """Name of the track, as the timeline shows it: `warp 3, from lane 16`."""
        if self.engine is not None:
            return f"{self.engine} #{self.part + 1}" if self.part else self.engine
        return f"warp {self.number}, from lane {self.part}" if self.part else f"warp {self.number}"


class Point(NamedTuple):
    """A point in the timeline: a tick on a track."""

    track: Track
    tick: int


@dataclass(frozen=True, slots=True)
class Span:
    """Activity on a track from tick `start` up to `end`; `ended` is False if the activity never ends."""

    track: Track
    kind: Kind
    name: str
    start: int
    end: int
    pc: int
    details: Mapping[str, object]
    ended: bool = True


@dataclass(frozen=True, slots=True)
class Mark:
    """Event at one tick: a barrier passed without waiting, an observed phase completion, a finding."""

    at: Point
    kind: MarkKind
    name: str
    pc: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """Arrow from cause to effect: issue to start of an operation, or a completion or arrival to the waiting warp."""

    name: str
    start: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Count:
    """Phase, pending count (`arrivals`) and tx-count (`bytes`) of an mbarrier from tick `tick` on."""

    cta: int
    name: str
    tick: int
    phase: int
    arrivals: int
    bytes: int


@dataclass(slots=True)
class Timeline:
    """Spans, marks, arrows and mbarrier states of a run; of each kind, at most the last `KEPT`.

    `ctas`: names of the recorded CTAs, by number. `stop`: the last tick. `error`: the error that ended the run early.
    """

    entry: str
    ctas: dict[int, str] = field(default_factory=dict[int, str])
    spans: deque[Span] = field(default_factory=lambda: deque[Span](maxlen=KEPT))
    marks: deque[Mark] = field(default_factory=lambda: deque[Mark](maxlen=KEPT))
    arrows: deque[Arrow] = field(default_factory=lambda: deque[Arrow](maxlen=KEPT))
    counts: deque[Count] = field(default_factory=lambda: deque[Count](maxlen=KEPT))
    dropped: int = 0
    stop: int = 0
    error: str | None = None

    def add(self, span: Span) -> None:
        """Add a span, unless it is empty."""
        if span.end > span.start:
            self.dropped += len(self.spans) == KEPT
            self.spans.append(span)

    def tracks(self) -> list[Track]:
        """Return the tracks with spans or marks: per CTA the warps, then the engines of asynchronous operations."""
        seen = {span.track for span in self.spans} | {mark.at.track for mark in self.marks}
        return sorted(seen, key=lambda track: (track.cta, track.engine or "", track.number, track.part))


class Clock:
    """Time of a timeline: an order of events, not a GPU's time.

    Each instruction that the simulator executes for any of the recorded warps takes one tick, for all of them together.
    Completions between two basic blocks take one additional tick. Ticks in which warps only retry their waits are
    removed at the end (see `compact`).
    """

    __slots__ = ("_first", "_inside", "_size", "_stirred", "now")

    def __init__(self) -> None:
        """Start the clock at tick 0."""
        self.now = 0
        self._first = 0
        self._size = 0
        self._inside = False
        self._stirred = False

    def at(self, pc: int) -> int:
        """Return the tick of instruction `pc` of the basic block being executed; between blocks, the next tick."""
        return self.now + pc - self._first if self._inside else self.now

    def begin(self, first: int, size: int) -> None:
        """Start a basic block of `size` instructions at pc `first`."""
        self._first, self._size, self._inside = first, size, True

    def end(self) -> None:
        """End the basic block: advance the clock by a tick per instruction."""
        self.now += self._size
        self._inside = False

    def stop(self, pc: int) -> None:
        """Stop the clock in the middle of the basic block, after instruction `pc`."""
        if self._inside:
            self.now = self.at(pc) + 1
            self._inside = False

    def perturb(self) -> None:
        """Record that an operation completes, which takes one tick if it happens between basic blocks."""
        self._stirred |= not self._inside

    def settle(self) -> None:
        """Advance the clock by one tick if an operation completed between basic blocks."""
        self.now += self._stirred
        self._stirred = False
