"""Manual: "Parallel Synchronization and Communication Instructions": mbarrier."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AMPERE = ("sm_80",)
HOPPER = ("sm_90",)
MULTICAST = ("sm_107f",)

SLOTS = {
    "ss": ("shared", "shared::cta"),
    "space": ("shared", "shared::cta", "shared::cluster"),
    "scope": ("cta", "cluster"),
    "layout": ("layout::v0", "layout::v1"),
}
OPERANDS = {
    "addr": "address(shared sized)",
    # The pending count of an mbarrier has 20 bits. Manual: "Contents of the mbarrier object".
    "count": "int32 in 1..1048575",
    "tx_count": "int32",
    "cta_mask": "int32",
    "state": "u64",
    "parity": "int32 in 0 1",
    "time_hint": "int32",
    "report": "b8",
    "p": "typed(pred)",  # a predicate register; not the sink `_`, which setp accepts
}
SINKS = {**OPERANDS, "state": "u64 or _", "_": "sink or _"}
PENDING = {**OPERANDS, "count": "int32"}

RELEASE, RELAXED, ACQUIRE = ("release",), ("relaxed",), ("acquire",)
ARRIVING, WAITING = (*RELEASE, *RELAXED), (*ACQUIRE, *RELAXED)

# Rows of arrive and arrive_drop: modifiers after the operation, memory orders, operands, PTX version, targets.
ARRIVALS = (
    # Forms for an mbarrier of the executing CTA:
    ("{.ss}", (), "state, [addr]", ptx(7, 0), AMPERE),
    (".noComplete{.ss}", (), "state, [addr], count", ptx(7, 0), AMPERE),
    ("{.ss}", (), "state, [addr], count", ptx(7, 8), HOPPER),
    (".sem.scope{.ss}", RELEASE, "state, [addr]", ptx(8, 0), AMPERE),
    (".sem.scope{.ss}", RELEASE, "state, [addr], count", ptx(8, 0), HOPPER),
    (".sem.scope{.ss}", RELAXED, "state, [addr]{, count}", ptx(8, 6), HOPPER),
    (".noComplete.sem.cta{.ss}", RELEASE, "state, [addr], count", ptx(8, 0), AMPERE),
    (".expect_tx{.sem.scope}{.ss}", RELEASE, "state, [addr], tx_count", ptx(8, 0), HOPPER),
    (".expect_tx.sem.scope{.ss}", RELAXED, "state, [addr], tx_count", ptx(8, 6), HOPPER),
    # Forms for an mbarrier that may be in another CTA of the cluster; they return no state:
    ("{.sem.scope}.shared::cluster", RELEASE, "_, [addr]{, count}", ptx(8, 0), HOPPER),
    (".sem.scope.shared::cluster", RELAXED, "_, [addr]{, count}", ptx(8, 6), HOPPER),
    (".expect_tx{.sem.scope}.shared::cluster", RELEASE, "_, [addr], tx_count", ptx(8, 0), HOPPER),
    (".expect_tx.sem.scope.shared::cluster", RELAXED, "_, [addr], tx_count", ptx(8, 6), HOPPER),
    # Forms for the mbarriers at the same offset in the shared memory of several CTAs:
    (
        "{.sem.scope}{.shared::cluster}.multicast::cluster::32b",
        ARRIVING,
        "_, [addr]{, count}, cta_mask",
        ptx(9, 4),
        MULTICAST,
    ),
    (
        ".expect_tx{.sem.scope}{.shared::cluster}.multicast::cluster::32b",
        ARRIVING,
        "_, [addr], tx_count, cta_mask",
        ptx(9, 4),
        MULTICAST,
    ),
)
# Rows of test_wait and try_wait: modifiers after the operation or its `.parity`, memory orders, results, PTX version (a
# later one if the operation itself is newer), targets.
WAITS = (
    ("{.ss}", (), "p", ptx(7, 0), AMPERE),
    (".sem.scope{.ss}", ACQUIRE, "p", ptx(8, 0), AMPERE),
    (".sem.scope{.ss}", RELAXED, "p", ptx(8, 6), HOPPER),
    (".phase_type::primary{.sem.scope}{.ss}", WAITING, "p{|q}", ptx(9, 3), HOPPER),
    (".phase_type::primary{.sem.scope}{.ss}", WAITING, "p{|q}, report", ptx(9, 3), HOPPER),
)


def _mbarrier(
    name: str,
    operands: str,
    since: tuple[int, int],
    targets: tuple[str, ...],
    *,
    access: str,
    kinds: Mapping[str, str] = OPERANDS,
    sem: tuple[str, ...] = (),
) -> InstructionRow:
    """Return an mbarrier row; `expect_tx` and `parity` are parts of the name, and keep their position in the opcode."""
    words = re.split(r"[{}.]+", name)
    slots = {**SLOTS, "sem": sem}
    return row(
        f"mbarrier.{name}.b64 {operands}",
        operands=kinds,
        access=access[: operands.count(",") + 1],
        leading=2 if words[1:2] in (["expect_tx"], ["parity"]) else 1,
        since=since,
        targets=targets,
        manual=f"mbarrier.{words[0]}",
        slots={slot: values for slot, values in slots.items() if slot in words},
    )


def _arrivals(name: str, kinds: Mapping[str, str]) -> Iterator[InstructionRow]:
    """Yield the forms of mbarrier.arrive or arrive_drop; `kinds` are the operand kinds of the PTX 7.0 forms."""
    for words, sem, operands, since, targets in ARRIVALS:
        yield _mbarrier(
            f"{name}{words}",
            operands,
            since,
            targets,
            access="wxrr",
            kinds=kinds if since == ptx(7, 0) else SINKS,
            sem=sem,
        )


def _waits(name: str, phase: str, first: tuple[int, int], targets: tuple[str, ...]) -> Iterator[InstructionRow]:
    """Yield the forms of an mbarrier wait for a `phase` given by state or parity; `first` is their PTX version."""
    for words, sem, results, since, least in WAITS:
        yield _mbarrier(
            f"{name}{words}",
            f"{results}, [addr], {phase}",
            max(since, first),
            max(least, targets),
            access="wwrrr" if "," in results else "wrrr",
            sem=sem,
        )


def _transactions(name: str) -> Iterator[InstructionRow]:
    """Yield the forms of mbarrier.expect_tx or mbarrier.complete_tx."""
    yield _mbarrier(f"{name}{{.sem.scope}}{{.space}}", "[addr], tx_count", ptx(8, 0), HOPPER, access="xr", sem=RELAXED)
    yield _mbarrier(
        f"{name}{{.sem.scope}}{{.shared::cluster}}.multicast::cluster::32b",
        "[addr], tx_count, cta_mask",
        ptx(9, 4),
        MULTICAST,
        access="xrr",
        sem=RELAXED,
    )


CONDITIONAL = "parity.phase_type::conditional{.sem.scope}{.ss}"

SUMMARIES = {
    "Asynchronous barriers": {
        "mbarrier.init": "Initialize an mbarrier with the expected arrival count of each phase.",
        "mbarrier.inval": "Invalidate an mbarrier, so that the memory of the mbarrier can be reused.",
        "mbarrier.expect_tx": "Increase the tx-count of the current phase of an mbarrier.",
        "mbarrier.complete_tx": "Decrease the tx-count of an mbarrier, as the completion of a copy does.",
        "mbarrier.arrive": "Arrive at an mbarrier; optionally, the same instruction performs an expect-tx first.",
        "mbarrier.arrive_drop": "Arrive at an mbarrier, and decrement the expected arrival count of later phases.",
        "mbarrier.test_wait": "Return whether a phase of an mbarrier has completed, without waiting.",
        "mbarrier.try_wait": "Wait a limited time for a phase of an mbarrier; return whether the phase has completed.",
        "mbarrier.pending_count": "Read the pending count from the phase state that mbarrier.arrive returned.",
        "mbarrier.check_layout": "Test whether an mbarrier in memory has a given layout.",
    },
}

ROWS = summarised(
    SUMMARIES,
    _mbarrier("init{.ss}", "[addr], count", ptx(7, 0), AMPERE, access="wr"),
    _mbarrier("init.layout{.ss}", "[addr], count", ptx(9, 3), HOPPER, access="wr"),
    _mbarrier("inval{.ss}", "[addr]", ptx(7, 0), AMPERE, access="w"),
    *_transactions("expect_tx"),
    *_transactions("complete_tx"),
    *_arrivals("arrive", OPERANDS),
    _mbarrier("arrive{.ss}", "_, [addr]", ptx(7, 1), AMPERE, access="wx", kinds=SINKS),
    _mbarrier("arrive.noComplete{.ss}", "_, [addr], count", ptx(7, 1), AMPERE, access="wxr", kinds=SINKS),
    *_arrivals("arrive_drop", SINKS),
    *_waits("test_wait", "state", ptx(7, 0), AMPERE),
    *_waits("test_wait.parity", "parity", ptx(7, 1), AMPERE),
    *_waits("try_wait", "state{, time_hint}", ptx(7, 8), HOPPER),
    *_waits("try_wait.parity", "parity{, time_hint}", ptx(7, 8), HOPPER),
    _mbarrier(f"test_wait.{CONDITIONAL}", "p, [addr], parity", ptx(9, 3), HOPPER, access="wrr", sem=WAITING),
    _mbarrier(
        f"try_wait.{CONDITIONAL}",
        "p, [addr], parity{, time_hint}",
        ptx(9, 3),
        HOPPER,
        access="wrrr",
        sem=WAITING,
    ),
    _mbarrier("pending_count", "count, state", ptx(7, 0), AMPERE, access="wr", kinds=PENDING),
    _mbarrier("pending_count.layout::v0", "count, state", ptx(9, 3), HOPPER, access="wr", kinds=PENDING),
    _mbarrier("check_layout.layout{.ss}", "p, [addr]", ptx(9, 3), HOPPER, access="wr"),
)
