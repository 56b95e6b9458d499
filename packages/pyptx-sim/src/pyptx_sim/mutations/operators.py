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
    Mutation("drop a proxy fence", ("fence.proxy",), edits.drop, "the async proxy may not see what was written"),
    Mutation("drop an mbarrier fence", ("fence.mbarrier_init",), edits.drop, "other blocks may not see the mbarriers"),
    Mutation("drop a fence", ("fence.acq_rel|sc|release|acquire", "membar"), edits.drop, "nothing is released"),
    Mutation("drop a barrier", _BLOCK_BARRIERS, edits.drop, "the warps of the block do not meet"),
    Mutation("drop a warp barrier", ("bar.warp",), edits.drop, "the lanes of a warp do not meet"),
    Mutation("drop a cluster arrival", (_CLUSTER_ARRIVE,), edits.drop, "a wait without an arrival"),
    Mutation("drop a cluster wait", ("barrier.cluster.wait",), edits.drop, "an arrival without a wait"),
    Mutation(
        "drop a cluster barrier",
        (_CLUSTER_ARRIVE,),
        edits.drop_with(1, "barrier", "cluster", "wait"),
        "the blocks of the cluster do not meet",
    ),
    Mutation("drop a commit", _COMMITS, edits.drop, "the group holds nothing, and its wait waits for nothing"),
    Mutation("drop a group wait", (*_GROUP_WAITS, "cp.async.wait_all"), edits.drop, "nobody waits for the group"),
    Mutation("drop a wait", _WAITS, edits.no_wait, "nobody waits for the phase"),
    Mutation("drop a retry", _WAITS, edits.no_retry, "a wait that may say no is asked once"),
    Mutation("drop an arrival", _SIGNALS, edits.drop, "the phase lacks an arrival, or its bytes"),
    Mutation("drop an initialization", ("mbarrier.init",), edits.drop, "there is no mbarrier"),
    Mutation("drop a copy", _COPIES, edits.drop, "what it would bring does not come"),
    Mutation("drop a store", ("st|stmatrix",), edits.drop, "memory keeps what it held"),
    Mutation("drop a move", ("mov",), edits.drop, "a register keeps what it held"),
    Mutation("drop an election", ("elect",), edits.elect_all, "every lane does what one should"),
)

NUMBERS = (
    Mutation("change an arrival count", ("mbarrier.init",), edits.add(1, 1, -1), "a phase ends too late, or too early"),
    Mutation(
        "halve the expected bytes", _SIGNALS, edits.scale(-1, 1, 2), "the bytes do not add up", having="expect_tx"
    ),
    Mutation("double the expected bytes", _SIGNALS, edits.scale(-1, 2, 1), "some never come", having="expect_tx"),
    Mutation("expect far more bytes", _SIGNALS, edits.scale(-1, 1 << 14, 1), "more than it counts", having="expect_tx"),
    Mutation("wait for one group less", _GROUP_WAITS, edits.add(0, 1), "the last group may be under way"),
    Mutation("change a thread count", _BLOCK_BARRIERS, edits.add(1, 32, -32, least=32), "not those meet who should"),
    Mutation("take another barrier", _BLOCK_BARRIERS, edits.flip(0, 1), "not those meet who should"),
    Mutation("flip a parity", _WAITS, edits.flip(2, 1), "the phase before is waited for", having="parity"),
    Mutation(
        "flip a constant", ("mov.u32|b32|s32|u64|b64|s64|u16|b16",), edits.flip_constant(1, 1), "a number begins wrong"
    ),
    Mutation("halve a stride", ("shl.b32|b64",), edits.add(2, -1, least=5), "what lay apart overlaps"),
    Mutation("move a bound", ("setp",), edits.add(2, 1, -1), "one time too often, or too rarely"),
    Mutation("copy half", ("cp.async.bulk.shared::cluster|shared::cta|global",), edits.scale(2, 1, 2), "bytes missing"),
    Mutation("shrink a lane mask", ("bar.warp", "elect"), edits.shrink_mask(-1), "lanes are left out"),
    Mutation("change a multicast", _COPIES, edits.another_block, "a block gets no tile", having="multicast::cluster"),
)

ADDRESSES = (
    Mutation("take the next mbarrier", (*_SIGNALS, *_WAITS), edits.shift(1, 8), "another mbarrier hears, or is asked"),
    Mutation("copy to the following address", _COPIES, edits.shift(0, 16), "the words lie elsewhere"),
    Mutation("copy from the following address", _COPIES, edits.shift(1, 16), "the words come from elsewhere"),
    Mutation("access one word off", _MEMORY, edits.shift(0, 4), "the words lie elsewhere", having=_ARRAYS),
    Mutation("load one word off", _MEMORY, edits.shift(1, 4), "the words come from elsewhere", having=_ARRAYS),
    Mutation("store far off", ("st.global",), edits.shift(0, 1 << 20), "outside every array"),
    Mutation("load far off", ("ld.global",), edits.shift(1, 1 << 20), "outside every array"),
    Mutation("stay at home", ("mapa",), edits.at_home, "the own block's memory for another's"),
    Mutation("copy a tile of another rank", _COPIES, edits.one_more_rank, "the map is of another", having="tensor"),
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
        "what is written in the launch may not be seen",
    ),
    Mutation("narrow a scope to the block", (_ORDERS, "fence.acq_rel|sc"), edits.word("cluster", "cta"), "others"),
    Mutation("narrow a device scope", ("fence|ld|st|atom|red",), edits.word("gpu", "cta"), "other blocks are left out"),
    Mutation("fence another space", ("fence.proxy",), edits.word("shared::cta", "global"), "shared memory is left out"),
    Mutation("wait for reads only", ("cp.async.bulk.wait_group",), edits.more_words("read"), "the writes are not done"),
    Mutation("count the copies' arrival", ("cp.async.mbarrier",), edits.word("noinc", ""), "the arrival adds to what"),
    Mutation("count no copies' arrival", ("cp.async.mbarrier",), edits.more_words("noinc"), "the arrival is expected"),
)

ORDER = (
    Mutation("arrive twice", (*_SIGNALS, "bar|barrier.arrive", _CLUSTER_ARRIVE), edits.twice, "one arrival too many"),
    Mutation("initialize twice", ("mbarrier.init",), edits.twice, "its phase begins again"),
    Mutation("fence too late", ("fence",), edits.later, "the barrier behind it comes first"),
    Mutation("commit too soon", _COMMITS, edits.sooner, "what comes behind is in no group"),
    Mutation("arrive too soon", (*_SIGNALS, "bar|barrier.arrive"), edits.sooner, "others go on while it is in use"),
    Mutation(
        "let every thread",
        (*_SIGNALS, *_COPIES, *_COMMITS, "mbarrier.init", "st|red|atom|stmatrix"),
        edits.unguard,
        "more threads do it than should",
    ),
    Mutation(
        "let the other threads",
        (*_SIGNALS, *_COPIES, "mbarrier.init", "bra", "st|red"),
        edits.invert_guard,
        "those do it who should not",
    ),
)

MUTATIONS: Final = (*DROPS, *NUMBERS, *ADDRESSES, *WORDS, *ORDER)
