"""Mutation operators of ordinary PTX: the instructions that each changes, and the expected fault."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import Mutation, edits

_BULK = "cp.async|reduce.bulk|async"  # cp.async.bulk and cp.reduce.async
_SIGNALS = ("mbarrier.arrive|arrive_drop|expect_tx|complete_tx", "cp.async.mbarrier")
_BLOCK_BARRIERS = ("bar|barrier.sync|arrive|red", "bar|barrier.cta")
_CLUSTER_ARRIVE = "barrier.cluster.arrive"
_WAITS = ("mbarrier.try_wait|test_wait",)
_GROUP_WAITS = tuple(f"{any_}.wait_group" for any_ in ("*", "*.*", "*.*.*"))
_COMMITS = tuple(f"{any_}.commit_group" for any_ in ("*", "*.*", "*.*.*"))
_COPIES = ("cp.async.ca|cg", "cp.async.bulk.shared::cluster|shared::cta|global|tensor", "cp.reduce", "st|red.async")
_MEMORY = ("ld|st|atom|red|ldmatrix|stmatrix",)
_ARRAYS = "global|shared|shared::cta|shared::cluster"
_ORDERS = "mbarrier|ld|st|atom|red"

DROPS = (
    Mutation("drop a proxy fence", ("fence.proxy",), edits.drop, "the writes may not be visible to the async proxy"),
    Mutation(
        "drop an mbarrier fence", ("fence.mbarrier_init",), edits.drop, "the init may not be visible to other CTAs"
    ),
    Mutation("drop a fence", ("fence.acq_rel|sc|release|acquire", "membar"), edits.drop, "nothing is released"),
    Mutation("drop a barrier", _BLOCK_BARRIERS, edits.drop, "the warps of the CTA do not synchronize"),
    Mutation("drop a warp barrier", ("bar.warp",), edits.drop, "the lanes of a warp do not synchronize"),
    Mutation("drop a cluster arrival", (_CLUSTER_ARRIVE,), edits.drop, "a wait without an arrival"),
    Mutation("drop a cluster wait", ("barrier.cluster.wait",), edits.drop, "an arrival without a wait"),
    Mutation(
        "drop a cluster barrier",
        (_CLUSTER_ARRIVE,),
        edits.drop_with(1, "barrier", "cluster", "wait"),
        "the CTAs of the cluster do not synchronize",
    ),
    Mutation("drop a commit", _COMMITS, edits.drop, "the group is empty, so its wait returns at once"),
    Mutation("drop a group wait", (*_GROUP_WAITS, "cp.async.wait_all"), edits.drop, "no thread waits for the group"),
    Mutation("drop a wait", _WAITS, edits.no_wait, "no thread waits for the phase"),
    Mutation("drop a retry", _WAITS, edits.no_retry, "a wait that may return false is not repeated"),
    Mutation("drop an arrival", _SIGNALS, edits.drop, "the phase lacks an arrival, or a part of its tx-count"),
    Mutation("drop an initialization", ("mbarrier.init",), edits.drop, "the mbarrier is uninitialized"),
    Mutation("drop a copy", _COPIES, edits.drop, "the destination is not written"),
    Mutation("drop a store", ("st|stmatrix",), edits.drop, "memory keeps its old value"),
    Mutation("drop a move", ("mov",), edits.drop, "a register keeps its old value"),
    Mutation("drop an election", ("elect",), edits.elect_all, "every lane executes the code of one"),
)

NUMBERS = (
    Mutation(
        "change an arrival count", ("mbarrier.init",), edits.add(1, 1, -1), "a phase completes too late, or too early"
    ),
    Mutation(
        "halve the expected bytes",
        _SIGNALS,
        edits.scale(-1, 1, 2),
        "the tx-count does not match the bytes",
        having="expect_tx",
    ),
    Mutation(
        "double the expected bytes", _SIGNALS, edits.scale(-1, 2, 1), "the phase never completes", having="expect_tx"
    ),
    Mutation(
        "expect far more bytes", _SIGNALS, edits.scale(-1, 1 << 14, 1), "exceeds the tx-count limit", having="expect_tx"
    ),
    Mutation("wait for one group less", _GROUP_WAITS, edits.add(0, 1), "the last group may be outstanding"),
    Mutation("change a thread count", _BLOCK_BARRIERS, edits.add(1, 32, -32, least=32), "too few or too many threads"),
    Mutation("take another barrier", _BLOCK_BARRIERS, edits.flip(0, 1), "the wrong threads synchronize"),
    Mutation("flip a parity", _WAITS, edits.flip(2, 1), "the wait is for the previous phase", having="parity"),
    Mutation(
        "flip a constant",
        ("mov.u32|b32|s32|u64|b64|s64|u16|b16",),
        edits.flip_constant(1, 1),
        "a number has a wrong initial value",
    ),
    Mutation("halve a stride", ("shl.b32|b64",), edits.add(2, -1, least=5), "separate data overlaps"),
    Mutation("move a bound", ("setp",), edits.add(2, 1, -1), "one iteration too many, or too few"),
    Mutation("copy half", ("cp.async.bulk.shared::cluster|shared::cta|global",), edits.scale(2, 1, 2), "bytes missing"),
    Mutation("shrink a lane mask", ("bar.warp", "elect"), edits.shrink_mask(-1), "lanes are left out"),
    Mutation("change a multicast", _COPIES, edits.another_block, "a CTA gets no tile", having="multicast::cluster"),
)

ADDRESSES = (
    Mutation(
        "take the next mbarrier", (*_SIGNALS, *_WAITS), edits.shift(1, 8), "another mbarrier is signaled, or polled"
    ),
    Mutation("copy to the following address", _COPIES, edits.shift(0, 16), "the words go to another address"),
    Mutation("copy from the following address", _COPIES, edits.shift(1, 16), "the words come from another address"),
    Mutation("access one word off", _MEMORY, edits.shift(0, 4), "the words go to another address", having=_ARRAYS),
    Mutation("load one word off", _MEMORY, edits.shift(1, 4), "the words come from another address", having=_ARRAYS),
    Mutation("store far off", ("st.global",), edits.shift(0, 1 << 20), "outside every array"),
    Mutation("load far off", ("ld.global",), edits.shift(1, 1 << 20), "outside every array"),
    Mutation("map to the same CTA", ("mapa",), edits.at_home, "accesses this CTA's memory instead of a peer's"),
    Mutation("copy a tile of another rank", _COPIES, edits.one_more_rank, "not the map's rank", having="tensor"),
)

WORDS = (
    Mutation("relax a release", (_ORDERS, _CLUSTER_ARRIVE), edits.word("release", "relaxed"), "nothing is released"),
    Mutation("relax an acquire", (_ORDERS,), edits.word("acquire", "relaxed"), "nothing is acquired"),
    Mutation(
        "relax a cluster arrival",
        (_CLUSTER_ARRIVE,),
        edits.more_words("relaxed", unless=("release",)),
        "nothing is released",
    ),
    Mutation("weaken an access", ("ld|st",), edits.word("volatile", ""), "a race: the access is not strong"),
    Mutation("weaken a relaxed access", ("ld|st",), edits.word("relaxed", "weak"), "a race: the access is not strong"),
    Mutation(
        "read without coherence",
        ("ld.global",),
        edits.insert("global", "nc", count=3),
        "writes of the launch may not be visible",
    ),
    Mutation("narrow a cluster scope", (_ORDERS, "fence.acq_rel|sc"), edits.word("cluster", "cta"), "excludes peers"),
    Mutation("narrow a device scope", ("fence|ld|st|atom|red",), edits.word("gpu", "cta"), "excludes other CTAs"),
    Mutation("fence another space", ("fence.proxy",), edits.word("shared::cta", "global"), "excludes shared memory"),
    Mutation(
        "wait for reads only", ("cp.async.bulk.wait_group",), edits.more_words("read"), "the writes may be outstanding"
    ),
    Mutation("count the copies' arrival", ("cp.async.mbarrier",), edits.word("noinc", ""), "raises the pending count"),
    Mutation("count no copies' arrival", ("cp.async.mbarrier",), edits.more_words("noinc"), "the arrival is expected"),
)

ORDER = (
    Mutation("arrive twice", (*_SIGNALS, "bar|barrier.arrive", _CLUSTER_ARRIVE), edits.twice, "one arrival too many"),
    Mutation("initialize twice", ("mbarrier.init",), edits.twice, "restarts the phase"),
    Mutation("fence too late", ("fence",), edits.later, "the fence comes after the barrier"),
    Mutation("commit too soon", _COMMITS, edits.sooner, "later copies are in no group"),
    Mutation(
        "arrive too soon", (*_SIGNALS, "bar|barrier.arrive"), edits.sooner, "other threads continue while it is in use"
    ),
    Mutation(
        "drop a guard",
        (*_SIGNALS, *_COPIES, *_COMMITS, "mbarrier.init", "st|red|atom|stmatrix"),
        edits.unguard,
        "more threads execute it than intended",
    ),
    Mutation(
        "invert a guard",
        (*_SIGNALS, *_COPIES, "mbarrier.init", "bra", "st|red"),
        edits.invert_guard,
        "only the other threads execute it",
    ),
)

MUTATIONS: Final = (*DROPS, *NUMBERS, *ADDRESSES, *WORDS, *ORDER)
