"""What a timeline consists of. All times are ticks, see `Clock`; all positions are pcs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind: TypeAlias = Literal["run", "wait", "async"]
MarkKind: TypeAlias = Literal["barrier", "phase", "finding"]

# Spans kept of one run, and as many of everything else: a file of some 100 MB, which Perfetto opens.
KEPT = 400_000


class Track(NamedTuple):
    """A row of the timeline; rows sort by their fields.

    `cta` is the block's number in launch order. `engine` None: `number` is a warp, and `part` the first lane of those
    that stand together. Else `part` tells apart what is under way at the same time.
    """

    cta: int
    engine: str | None
    number: int
    part: int

    @property
    def name(self) -> str:
        """What a reader calls it."""
        if self.engine is not None:
            return f"{self.engine} #{self.part + 1}" if self.part else self.engine
        return f"warp {self.number}, from lane {self.part}" if self.part else f"warp {self.number}"


class Point(NamedTuple):
    """A tick on a track."""

    track: Track
    tick: int


@dataclass(frozen=True, slots=True)
class Span:
    """What happens on a track from tick `start` up to `end`; `ended` False: it would have gone on for ever."""

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
    """What happens at one tick: a barrier met without waiting, a phase seen to be complete, a finding."""

    at: Point
    kind: MarkKind
    name: str
    pc: int


@dataclass(frozen=True, slots=True)
class Arrow:
    """That one thing led to another: an issue to its completion, or what came to whoever waited for it."""

    name: str
    start: Point
    end: Point


@dataclass(frozen=True, slots=True)
class Count:
    """What is pending at an mbarrier from a tick on."""

    cta: int
    name: str
    tick: int
    phase: int
    arrivals: int
    bytes: int


@dataclass(slots=True)
class Timeline:
    """All that was recorded of a run; of more than `KEPT` entries of a sort the last ones.

    `ctas` names the blocks that were recorded, by number. `stop` is the last tick, `error` what ended the run early.
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
        """Keep a span that took any time."""
        if span.end > span.start:
            self.dropped += len(self.spans) == KEPT
            self.spans.append(span)

    def tracks(self) -> list[Track]:
        """Return the tracks on which anything happened, in order: of each block the warps, then the engines."""
        seen = {span.track for span in self.spans} | {mark.at.track for mark in self.marks}
        return sorted(seen, key=lambda track: (track.cta, track.engine or "", track.number, track.part))


class Clock:
    """The time of a timeline: an order of events, not a GPU's time.

    Each instruction that the simulator executes for any of the recorded warps takes one tick, for all of them together.
    What completes between two basic blocks takes one tick more. Those of warps that only ask again whether their wait
    is over are taken out in the end (see `compact`).
    """

    __slots__ = ("_first", "_inside", "_size", "_stirred", "now")

    def __init__(self) -> None:
        """Begin at 0."""
        self.now = 0
        self._first = 0
        self._size = 0
        self._inside = False
        self._stirred = False

    def at(self, pc: int) -> int:
        """Return the tick of instruction `pc` of the block being executed; between blocks, the next tick."""
        return self.now + pc - self._first if self._inside else self.now

    def begin(self, first: int, size: int) -> None:
        """Begin a basic block of `size` instructions."""
        self._first, self._size, self._inside = first, size, True

    def end(self) -> None:
        """End the basic block."""
        self.now += self._size
        self._inside = False

    def stop(self, pc: int) -> None:
        """End in the middle of a block, behind instruction `pc`."""
        if self._inside:
            self.now = self.at(pc) + 1
            self._inside = False

    def stir(self) -> None:
        """Note that something has completed; between blocks that takes a tick."""
        self._stirred |= not self._inside

    def settle(self) -> None:
        """Let the tick pass that a completion took."""
        self.now += self._stirred
        self._stirred = False
