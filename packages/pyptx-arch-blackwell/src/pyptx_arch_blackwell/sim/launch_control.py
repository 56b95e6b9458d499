"""`clusterlaunchcontrol`: running clusters cancel and take over clusters that are not launched yet.

The manual does not define the 16 bytes of a response. In the simulator, the last 32-bit word encodes is_canceled, and
the other three words are the index (x, y, z) of the cluster's first CTA.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_sim.extension import (
    ASYNC,
    MBARRIER_BYTES,
    AsyncAccess,
    AsyncIssue,
    InstructionSemantics,
    Mutation,
    Origin,
    Rule,
    edits,
    explained,
)
from pyptx_sim.types import B128

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from pyptx_sim.extension import Action, ExecutionContext, IntArray, Mask, Operands, Wave

_SIGNALS: Final = "mbarrier::complete_tx::bytes"
_ALL: Final = "multicast::cluster::all"
_RESPONSE: Final = 16  # bytes of a try_cancel response
_WORD: Final = 4
# Last 32-bit word of a try_cancel response with is_canceled = true, and with is_canceled = false.
_CANCELED, _FAILED = 0xC1C0_0001, 0xC1C0_0000
_AXES: Final = "xyz"
_HELP: Final = "test query_cancel.is_canceled first"
# CTA index that get_first_ctaid returns if try_cancel failed (is_canceled = false).
_UNKNOWN: Final = np.uint32(0xFFFFFFFF)


class Failures:
    """CTAs that received a try_cancel response with is_canceled = false."""

    def __init__(self, wave: Wave) -> None:
        """Start without CTAs whose try_cancel request failed."""
        self.seen: Mask = np.zeros(wave.geometry.ctas, np.bool_)


@dataclass(slots=True, kw_only=True)
class Tries(AsyncIssue):
    """Outstanding try_cancel requests of one instruction, one request per thread.

    `targets` are the addresses of the responses, `barriers` their mbarriers: one array for each CTA that receives a
    thread's response; each array has one element per thread.
    """

    targets: tuple[IntArray, ...]
    barriers: tuple[IntArray, ...]

    def signals(self) -> Iterable[int]:
        """Return the mbarriers that the try_cancel responses signal."""
        return (barrier for each in self.barriers for barrier in each.tolist())

    def move(self) -> None:
        """Cancel a cluster launch for each request, write the responses, and perform complete-tx on the mbarriers."""
        arena = self.wave.memory("shared").arena
        words = np.array([self._response() for _ in range(len(self))], np.uint32)
        for targets, barriers in zip(self.targets, self.barriers, strict=True):
            arena.scatter(targets, list(words.T))
            arena.mark(targets, _RESPONSE)
            for barrier in barriers.tolist():
                self.count_bytes(barrier, _RESPONSE)

    def _response(self) -> tuple[int, int, int, int]:
        first = self.cancel_launch()
        return (*first, _CANCELED) if first is not None else (0, 0, 0, _FAILED)


def compile_try(operands: Operands) -> Action:
    """Issue a try_cancel request for each thread. Manual: "clusterlaunchcontrol.try_cancel"."""
    everywhere = bool(operands.word(_ALL))
    response, barrier = operands.shared_place("addr"), operands.shared_place("mbar")

    def ask(turn: ExecutionContext) -> None:
        if turn.checked:
            _check_failures(turn)
        barriers = turn.offsets(barrier, MBARRIER_BYTES, "atomic")
        sound = turn.narrowed(barriers >= 0)
        found = None if sound is None else sound.offsets(response, _RESPONSE, "write")
        asking = None if sound is None or found is None else sound.narrowed(found >= 0)
        if asking is None or found is None:
            return
        targets, told = found[asking.places], barriers[asking.places]
        for number, thread in enumerate(asking.by_thread()):
            _issue(thread, int(targets[number]), int(told[number]), everywhere=everywhere)

    return operands.action(ask)


def _issue(thread: ExecutionContext, target: int, barrier: int, *, everywhere: bool) -> None:
    """Issue one thread's try_cancel; its response goes to one CTA or, if `everywhere`, to the whole cluster."""
    warps, lanes = thread.threads
    aims = thread.peers(target, -1) if everywhere else (0,)
    targets = tuple(np.array([target + aim]) for aim in aims)
    barriers = tuple(np.array([barrier + aim]) for aim in aims)
    tries = Tries(
        wave=thread.wave,
        pc=thread.pc,
        warps=warps,
        lanes=lanes,
        group=None,
        numbers=np.zeros(1, np.int64),
        targets=targets,
        barriers=barriers,
    )
    thread.issue(tries, [_touch(*each) for each in zip(targets, barriers, strict=True)], proxy=ASYNC)


def _touch(targets: IntArray, barriers: IntArray) -> AsyncAccess:
    """Return the asynchronous write of a response, which may overwrite an earlier response that threads have read."""
    owners = np.zeros(1, np.int64)
    return AsyncAccess(
        "shared", writes=True, offsets=targets, size=_RESPONSE, owners=owners, barriers=barriers, after_reads=True
    )


def _check_failures(turn: ExecutionContext) -> None:
    """Report try_cancel in CTAs that received a response with is_canceled = false."""
    again = turn.part(Failures).seen[turn.ctas][:, None] & turn.mask
    if again.any():
        row, lane = (int(part[0]) for part in np.nonzero(again))
        turn.report(
            "cancel-after-failure",
            "try_cancel after a response with is_canceled = false",
            label=f"try_cancel by {turn.thread_name(int(turn.rows[row]), lane)}",
            count=int(np.count_nonzero(again)),
        )


def compile_query(operands: Operands) -> Action:
    """Execute query_cancel: decode a response. Manual: "clusterlaunchcontrol.query_cancel"."""
    response = operands.source("response", "b128")
    if operands.word("is_canceled"):
        write = operands.destination("p", "pred")

        def ask(turn: ExecutionContext) -> None:
            words = _words(turn, turn.read(response))
            canceled = words[3] == _CANCELED
            turn.write(write, canceled)
            turn.part(Failures).seen[turn.ctas[(~canceled & turn.mask).any(axis=1)]] = True

        return operands.action(ask)

    named = operands.elements(operands.named("d"))
    writers = [operands.write(element, "b32") for element in named]
    axis = operands.word("dimension")[-1:]
    which = [_AXES.index(axis)] if axis else [0, 1, 2]
    carried = [operands.carried(element, "b32") for element in named] if operands.checked else []

    def first(turn: ExecutionContext) -> None:
        words = _words(turn, turn.read(response))
        known = words[3] == _CANCELED
        for place, writer in enumerate(writers):
            value = words[which[place]] if place < len(which) else _UNKNOWN
            turn.write(writer, np.where(known, value, _UNKNOWN))
        if carried and (~known & turn.mask).any():
            unknown = np.where(known, np.uint32(0), ~np.uint32(0))
            turn.leave_undefined(carried, [unknown] * len(carried), _no_block(turn.pc))

    return operands.action(first)


def _no_block(pc: int) -> Origin:
    """Return the `Origin` of a failed try_cancel's CTA index, which compiled code reads before it tests is_canceled."""
    what, note = "get_first_ctaid of a failed try_cancel", "is_canceled of the response is false"
    return Origin("cancel-response", what, pc, _HELP, label="get_first_ctaid", fault="undefined ctaid", notes=(note,))


def _words(turn: ExecutionContext, response: NDArray[Any]) -> list[NDArray[np.uint32]]:
    """Return the four words of a try_cancel response; report operands that are not a response."""
    halves = np.ascontiguousarray(response).view(B128)
    words = [(halves[half] >> np.uint64(shift)).astype(np.uint32) for half in ("lo", "hi") for shift in (0, 8 * _WORD)]
    foreign = (words[3] != _CANCELED) & (words[3] != _FAILED) & turn.mask
    if foreign.any():
        row, lane = (int(part[0]) for part in np.nonzero(foreign))
        turn.report(
            "cancel-response",
            "operand is not a try_cancel response",
            label=f"query_cancel by {turn.thread_name(int(turn.rows[row]), lane)}",
            help="load the 16-byte response after the mbarrier wait",
            count=int(np.count_nonzero(foreign)),
        )
    return words


RULES: Final = explained(
    Path(__file__).with_name("pages"),
    Rule(
        name="cancel-response",
        summary="CTA index read from a try_cancel response that reports no canceled cluster",
        help=_HELP,
    ),
    Rule(
        name="cancel-after-failure",
        summary="try_cancel after a try_cancel that did not cancel a cluster",
        help="leave the loop when is_canceled is false",
        severity="warning",
    ),
)

_TRY: Final = "clusterlaunchcontrol.try_cancel"
STEPS: Final = (
    InstructionSemantics(
        opcode=_TRY,
        effect="issue",
        compile=compile_try,
        signals_mbarrier=_SIGNALS,
        cancels_launches=True,
        fences_reads=True,
    ),
    InstructionSemantics(opcode="clusterlaunchcontrol.query_cancel", effect="none", compile=compile_query),
)
MUTATIONS: Final = (
    Mutation("drop a try_cancel", (_TRY,), edits.drop, "no CTA takes over the clusters that are not launched"),
    Mutation("execute try_cancel twice", (_TRY,), edits.twice, "one of the two canceled clusters never runs"),
    Mutation(
        "ignore a failed try_cancel",
        ("clusterlaunchcontrol.query_cancel.is_canceled",),
        edits.become("setp.eq.b32", 0, "0", "0"),
        "a CTA index is read from the response of a failed try_cancel",
    ),
    Mutation(
        "drop the multicast of try_cancel",
        (_TRY,),
        edits.word(_ALL, ""),
        "only one CTA of the cluster receives the response; the others wait indefinitely",
    ),
)
