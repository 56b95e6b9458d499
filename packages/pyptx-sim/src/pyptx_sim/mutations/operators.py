"""Mutation operators of PTX outside the pyptx-arch packages: each with the opcodes that it changes and its fault."""

from __future__ import annotations

from typing import Final

from pyptx_sim.extension import edits
from pyptx_sim.extension.mutation import Mutation

_BULK = "cp.async|reduce.bulk|async"  # matches cp.async.bulk and cp.reduce.async
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
    Mutation("drop a proxy fence", ("fence.proxy",), edits.drop, "writes are not visible to the async proxy"),
    Mutation(
        "drop an mbarrier fence", ("fence.mbarrier_init",), edits.drop, "the mbarrier.init is not visible to other CTAs"
    ),
    Mutation(
        "drop a fence",
        ("fence.acq_rel|sc|release|acquire", "membar"),
        edits.drop,
        "accesses before and after the fence are not ordered",
    ),
    Mutation("drop a barrier", _BLOCK_BARRIERS, edits.drop, "the warps of the CTA do not synchronize"),
    Mutation("drop a warp barrier", ("bar.warp",), edits.drop, "the lanes of a warp do not synchronize"),
    Mutation("drop a cluster arrival", (_CLUSTER_ARRIVE,), edits.drop, "the cluster wait has no arrival"),
    Mutation("drop a cluster wait", ("barrier.cluster.wait",), edits.drop, "the cluster arrival has no wait"),
    Mutation(
        "drop a cluster barrier",
        (_CLUSTER_ARRIVE,),
        edits.drop_with(1, "barrier", "cluster", "wait"),
        "the CTAs of the cluster do not synchronize",
    ),
    Mutation("drop a commit", _COMMITS, edits.drop, "the async-group is empty: wait_group returns at once"),
    Mutation("drop a group wait", (*_GROUP_WAITS, "cp.async.wait_all"), edits.drop, "no thread waits for the copies"),
    Mutation("drop a wait", _WAITS, edits.no_wait, "no thread waits for the mbarrier phase"),
    Mutation("drop a retry", _WAITS, edits.no_retry, "a wait that returns false is not repeated"),
    Mutation("drop an arrival", _SIGNALS, edits.drop, "the mbarrier phase lacks an arrival or tx-count"),
    Mutation("drop an mbarrier initialization", ("mbarrier.init",), edits.drop, "the mbarrier is uninitialized"),
    Mutation("drop a copy", _COPIES, edits.drop, "the copy's destination is not written"),
    Mutation("drop a store", ("st|stmatrix",), edits.drop, "the stored location keeps its old value"),
    Mutation("drop a move", ("mov",), edits.drop, "the destination register keeps its old value"),
    Mutation("elect every lane", ("elect",), edits.elect_all, "every lane executes the elected lane's code"),
)

NUMBERS = (
    Mutation(
        "change an arrival count", ("mbarrier.init",), edits.add(1, 1, -1), "a phase completes too late or too early"
    ),
    Mutation(
        "halve the expected bytes",
        _SIGNALS,
        edits.scale(-1, 1, 2),
        "the tx-count differs from the number of bytes copied",
        having="expect_tx",
    ),
    Mutation(
        "double the expected bytes",
        _SIGNALS,
        edits.scale(-1, 2, 1),
        "the mbarrier phase never completes",
        having="expect_tx",
    ),
    Mutation(
        "multiply the expected bytes by 2^14",
        _SIGNALS,
        edits.scale(-1, 1 << 14, 1),
        "the tx-count exceeds its limit",
        having="expect_tx",
    ),
    Mutation("allow one more pending group", _GROUP_WAITS, edits.add(0, 1), "the last async-group may be incomplete"),
    Mutation(
        "change a thread count",
        _BLOCK_BARRIERS,
        edits.add(1, 32, -32, least=32),
        "the barrier expects the wrong thread count",
    ),
    Mutation(
        "change a barrier number", _BLOCK_BARRIERS, edits.flip(0, 1), "the barrier synchronizes the wrong threads"
    ),
    Mutation("flip a parity", _WAITS, edits.flip(2, 1), "the mbarrier wait is for the previous phase", having="parity"),
    Mutation(
        "flip a constant",
        ("mov.u32|b32|s32|u64|b64|s64|u16|b16",),
        edits.flip_constant(1, 1),
        "the register has a wrong initial value",
    ),
    Mutation("halve a stride", ("shl.b32|b64",), edits.add(2, -1, least=5), "adjacent rows overlap in memory"),
    Mutation("move a bound", ("setp",), edits.add(2, 1, -1), "the loop runs one iteration too many or too few"),
    Mutation(
        "copy half", ("cp.async.bulk.shared::cluster|shared::cta|global",), edits.scale(2, 1, 2), "half is missing"
    ),
    Mutation(
        "shrink a lane mask", ("bar.warp", "elect"), edits.shrink_mask(-1), "the membermask names the wrong lanes"
    ),
    Mutation(
        "change a multicast",
        _COPIES,
        edits.another_block,
        "the copy is not multicast to one CTA, or to one too many",
        having="multicast::cluster",
    ),
)

ADDRESSES = (
    Mutation(
        "add 8 bytes to an mbarrier address",
        (*_SIGNALS, *_WAITS),
        edits.shift(1, 8),
        "the wrong mbarrier is signaled or polled",
    ),
    Mutation("add 16 to a copy's destination", _COPIES, edits.shift(0, 16), "the copy writes the wrong addresses"),
    Mutation("add 16 to a copy's source", _COPIES, edits.shift(1, 16), "the copy reads the wrong addresses"),
    Mutation(
        "add 4 bytes to a store address",
        _MEMORY,
        edits.shift(0, 4),
        "the store writes the wrong address",
        having=_ARRAYS,
    ),
    Mutation(
        "add 4 bytes to a load address", _MEMORY, edits.shift(1, 4), "the load reads the wrong address", having=_ARRAYS
    ),
    Mutation(
        "add 1 MiB to a store address", ("st.global",), edits.shift(0, 1 << 20), "the address is outside every array"
    ),
    Mutation(
        "add 1 MiB to a load address", ("ld.global",), edits.shift(1, 1 << 20), "the address is outside every array"
    ),
    Mutation("replace mapa by mov", ("mapa",), edits.at_home, "the address is in the own CTA, not a peer CTA"),
    Mutation(
        "raise the rank of a tensor copy",
        _COPIES,
        edits.one_more_rank,
        "the tensor map and the copy differ in rank",
        having="tensor",
    ),
)

WORDS = (
    Mutation(
        "relax a release",
        (_ORDERS, _CLUSTER_ARRIVE),
        edits.word("release", "relaxed"),
        "earlier accesses are not released",
    ),
    Mutation("relax an acquire", (_ORDERS,), edits.word("acquire", "relaxed"), "released accesses are not acquired"),
    Mutation(
        "relax a cluster arrival",
        (_CLUSTER_ARRIVE,),
        edits.more_words("relaxed", unless=("release",)),
        "earlier accesses are not released",
    ),
    Mutation("remove .volatile from an access", ("ld|st",), edits.word("volatile", ""), "the weak access races"),
    Mutation("replace .relaxed by .weak", ("ld|st",), edits.word("relaxed", "weak"), "the weak access races"),
    Mutation(
        "add .nc to a global load",
        ("ld.global",),
        edits.insert("global", "nc", count=3),
        "the load may miss writes of the same launch",
    ),
    Mutation(
        "narrow a cluster scope",
        (_ORDERS, "fence.acq_rel|sc"),
        edits.word("cluster", "cta"),
        "the scope excludes peer CTAs",
    ),
    Mutation(
        "narrow a device scope", ("fence|ld|st|atom|red",), edits.word("gpu", "cta"), "the scope excludes other CTAs"
    ),
    Mutation(
        "fence .global instead of .shared::cta",
        ("fence.proxy",),
        edits.word("shared::cta", "global"),
        "shared memory is not fenced",
    ),
    Mutation(
        "wait for source reads only",
        ("cp.async.bulk.wait_group",),
        edits.more_words("read"),
        "the copies' writes may be incomplete",
    ),
    Mutation(
        "remove .noinc from an arrival",
        ("cp.async.mbarrier",),
        edits.word("noinc", ""),
        "the arrival raises the pending count",
    ),
    Mutation(
        "add .noinc to an arrival",
        ("cp.async.mbarrier",),
        edits.more_words("noinc"),
        "the expected count lacks the arrival",
    ),
)

ORDER = (
    Mutation(
        "arrive twice",
        (*_SIGNALS, "bar|barrier.arrive", _CLUSTER_ARRIVE),
        edits.twice,
        "the barrier counts one arrival too many",
    ),
    Mutation("initialize twice", ("mbarrier.init",), edits.twice, "the second init restarts the phase"),
    Mutation(
        "delay a fence",
        ("fence",),
        edits.later,
        "the fence follows the instruction it must precede",
    ),
    Mutation(
        "commit before preceding copies", _COMMITS, edits.sooner, "the copies after the commit belong to no async-group"
    ),
    Mutation(
        "arrive before preceding accesses",
        (*_SIGNALS, "bar|barrier.arrive"),
        edits.sooner,
        "other threads continue while the data is in use",
    ),
    Mutation(
        "drop a guard",
        (*_SIGNALS, *_COPIES, *_COMMITS, "mbarrier.init", "st|red|atom|stmatrix"),
        edits.unguard,
        "too many threads execute the instruction",
    ),
    Mutation(
        "invert a guard",
        (*_SIGNALS, *_COPIES, "mbarrier.init", "bra", "st|red"),
        edits.invert_guard,
        "the wrong threads execute the instruction",
    ),
)

MUTATIONS: Final = (*DROPS, *NUMBERS, *ADDRESSES, *WORDS, *ORDER)
