"""The table of operators: what each changes, in which instructions, and what should then go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_sim.mutations import edits

if TYPE_CHECKING:
    from pyptx_sim.mutations.edits import Edit


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of fault.

    `opcodes` are the beginnings of the opcodes that it changes, `a|b` for either word and `*` for any; `having` are
    modifiers of which they must have one. `breaks` says what the change takes away.
    """

    name: str
    opcodes: tuple[str, ...]
    edit: Edit
    breaks: str
    having: str = ""

    def applies(self, opcode: tuple[str, ...]) -> bool:
        """Tell whether it changes instructions with this opcode."""
        having = not self.having or not set(self.having.split("|")).isdisjoint(opcode)
        return having and any(_begins(opcode, each) for each in self.opcodes)


def _begins(opcode: tuple[str, ...], pattern: str) -> bool:
    words = pattern.split(".")
    return len(words) <= len(opcode) and all(
        word == "*" or given in word.split("|") for word, given in zip(words, opcode, strict=False)
    )


_BULK = "cp.async|reduce.bulk|async"  # cp.async.bulk and cp.reduce.async
_SIGNALS = ("mbarrier.arrive|arrive_drop|expect_tx|complete_tx", "cp.async.mbarrier")
_BLOCK_BARRIERS = ("bar|barrier.sync|arrive|red", "bar|barrier.cta")
_CLUSTER_ARRIVE = "barrier.cluster.arrive"
_WAITS = ("mbarrier.try_wait|test_wait",)
_GROUP_WAITS = ("cp.async.wait_group", "cp.async.bulk.wait_group", "wgmma.wait_group")
_COMMITS = ("cp.async.commit_group", "cp.async.bulk.commit_group", "wgmma.commit_group")
_COPIES = ("cp.async.ca|cg", "cp.async.bulk.shared::cluster|shared::cta|global|tensor", "cp.reduce", "st|red.async")
_MEMORY = ("ld|st|atom|red|ldmatrix|stmatrix",)
_ARRAYS = "global|shared|shared::cta|shared::cluster"
_ORDERS = "mbarrier|ld|st|atom|red"
_PRODUCTS = ("wgmma.mma_async",)

DROPS = (
    Operator("drop a proxy fence", ("fence.proxy",), edits.drop, "the async proxy may not see what was written"),
    Operator("drop an mbarrier fence", ("fence.mbarrier_init",), edits.drop, "other blocks may not see the mbarriers"),
    Operator("drop a fence", ("fence.acq_rel|sc|release|acquire", "membar"), edits.drop, "nothing is released"),
    Operator("drop a barrier", _BLOCK_BARRIERS, edits.drop, "the warps of the block do not meet"),
    Operator("drop a warp barrier", ("bar.warp",), edits.drop, "the lanes of a warp do not meet"),
    Operator("drop a cluster arrival", (_CLUSTER_ARRIVE,), edits.drop, "a wait without an arrival"),
    Operator("drop a cluster wait", ("barrier.cluster.wait",), edits.drop, "an arrival without a wait"),
    Operator(
        "drop a cluster barrier",
        (_CLUSTER_ARRIVE,),
        edits.drop_with(1, "barrier", "cluster", "wait"),
        "the blocks of the cluster do not meet",
    ),
    Operator("drop a commit", _COMMITS, edits.drop, "the group holds nothing, and its wait waits for nothing"),
    Operator("drop a group wait", (*_GROUP_WAITS, "cp.async.wait_all"), edits.drop, "nobody waits for the group"),
    Operator("drop a wait", _WAITS, edits.no_wait, "nobody waits for the phase"),
    Operator("drop a retry", _WAITS, edits.no_retry, "a wait that may say no is asked once"),
    Operator("drop an arrival", _SIGNALS, edits.drop, "the phase lacks an arrival, or its bytes"),
    Operator("drop an initialisation", ("mbarrier.init",), edits.drop, "there is no mbarrier"),
    Operator("drop a copy", _COPIES, edits.drop, "what it would bring does not come"),
    Operator("drop a store", ("st|stmatrix",), edits.drop, "memory keeps what it held"),
    Operator("drop a move", ("mov",), edits.drop, "a register keeps what it held"),
    Operator("drop a wgmma fence", ("wgmma.fence",), edits.drop, "products may not see the registers"),
    Operator("drop an election", ("elect",), edits.elect_all, "every lane does what one should"),
    Operator("drop a deal of registers", ("setmaxnreg",), edits.drop, "a warpgroup keeps too many, or gets too few"),
)

NUMBERS = (
    Operator("change an arrival count", ("mbarrier.init",), edits.add(1, 1, -1), "a phase ends too late, or too early"),
    Operator(
        "halve the expected bytes", _SIGNALS, edits.scale(-1, 1, 2), "the bytes do not add up", having="expect_tx"
    ),
    Operator("double the expected bytes", _SIGNALS, edits.scale(-1, 2, 1), "some never come", having="expect_tx"),
    Operator("expect far more bytes", _SIGNALS, edits.scale(-1, 1 << 14, 1), "more than it counts", having="expect_tx"),
    Operator("wait for one group less", _GROUP_WAITS, edits.add(0, 1), "the last group may be under way"),
    Operator("change a thread count", _BLOCK_BARRIERS, edits.add(1, 32, -32, least=32), "not those meet who should"),
    Operator("take another barrier", _BLOCK_BARRIERS, edits.flip(0, 1), "not those meet who should"),
    Operator("flip a parity", _WAITS, edits.flip(2, 1), "the phase before is waited for", having="parity"),
    Operator(
        "flip a constant", ("mov.u32|b32|s32|u64|b64|s64|u16|b16",), edits.flip_constant(1, 1), "a number begins wrong"
    ),
    Operator("halve a stride", ("shl.b32|b64",), edits.add(2, -1, least=5), "what lay apart overlaps"),
    Operator("move a bound", ("setp",), edits.add(2, 1, -1), "one time too often, or too rarely"),
    Operator("copy half", ("cp.async.bulk.shared::cluster|shared::cta|global",), edits.scale(2, 1, 2), "bytes missing"),
    Operator("shrink a lane mask", ("bar.warp", "elect"), edits.shrink_mask(-1), "lanes are left out"),
    Operator("deal in more registers", ("setmaxnreg",), edits.add(0, 8), "the pool lacks what is asked for"),
    Operator("change a multicast", _COPIES, edits.another_block, "a block gets no tile", having="multicast::cluster"),
)

ADDRESSES = (
    Operator("take the next mbarrier", (*_SIGNALS, *_WAITS), edits.shift(1, 8), "another mbarrier hears, or is asked"),
    Operator("copy to a place behind", _COPIES, edits.shift(0, 16), "the words lie elsewhere"),
    Operator("copy from a place behind", _COPIES, edits.shift(1, 16), "the words come from elsewhere"),
    Operator("access one word off", _MEMORY, edits.shift(0, 4), "the words lie elsewhere", having=_ARRAYS),
    Operator("load one word off", _MEMORY, edits.shift(1, 4), "the words come from elsewhere", having=_ARRAYS),
    Operator("store far off", ("st.global",), edits.shift(0, 1 << 20), "outside every array"),
    Operator("load far off", ("ld.global",), edits.shift(1, 1 << 20), "outside every array"),
    Operator("stay at home", ("mapa",), edits.at_home, "the own block's memory for another's"),
    Operator("copy a tile of another rank", _COPIES, edits.one_more_rank, "the map is of another", having="tensor"),
    Operator(
        "shift a descriptor",
        _PRODUCTS,
        edits.each(edits.add(1, 8, bits=64), edits.add(2, 8, bits=64)),
        "the rows lie elsewhere",
    ),
    Operator(
        "swizzle otherwise",
        _PRODUCTS,
        edits.each(edits.flip(1, 1 << 62, bits=64), edits.flip(2, 1 << 62, bits=64)),
        "the tile was written otherwise",
    ),
    Operator(
        "stride otherwise",
        _PRODUCTS,
        edits.each(edits.add(1, 1 << 32, bits=64), edits.add(2, 1 << 32, bits=64)),
        "the rows lie elsewhere",
    ),
)

WORDS = (
    Operator("relax a release", (_ORDERS, _CLUSTER_ARRIVE), edits.word("release", "relaxed"), "nothing is released"),
    Operator("relax an acquire", (_ORDERS,), edits.word("acquire", "relaxed"), "nothing is acquired"),
    Operator(
        "relax a cluster arrival",
        (_CLUSTER_ARRIVE,),
        edits.more_words("relaxed", unless=("release",)),
        "nothing is released",
    ),
    Operator("weaken an access", ("ld|st",), edits.word("volatile", ""), "a race: the access is not strong"),
    Operator("weaken a relaxed access", ("ld|st",), edits.word("relaxed", "weak"), "a race: the access is not strong"),
    Operator("narrow a scope to the block", (_ORDERS, "fence.acq_rel|sc"), edits.word("cluster", "cta"), "others"),
    Operator("narrow a device scope", ("fence|ld|st|atom|red",), edits.word("gpu", "cta"), "other blocks are left out"),
    Operator("fence another space", ("fence.proxy",), edits.word("shared::cta", "global"), "shared memory is left out"),
    Operator("wait for reads only", ("cp.async.bulk.wait_group",), edits.more_words("read"), "the writes are not done"),
    Operator("give registers for taking", ("setmaxnreg",), edits.word("inc", "dec"), "what it has is fewer already"),
    Operator("take registers for giving", ("setmaxnreg",), edits.word("dec", "inc"), "what it has is more already"),
    Operator("count the copies' arrival", ("cp.async.mbarrier",), edits.word("noinc", ""), "the arrival adds to what"),
    Operator("count no copies' arrival", ("cp.async.mbarrier",), edits.more_words("noinc"), "the arrival is expected"),
)

ORDER = (
    Operator("arrive twice", (*_SIGNALS, "bar|barrier.arrive", _CLUSTER_ARRIVE), edits.twice, "one arrival too many"),
    Operator("initialise twice", ("mbarrier.init",), edits.twice, "its phase begins again"),
    Operator("fence too late", ("fence",), edits.later, "the barrier behind it comes first"),
    Operator("commit too soon", _COMMITS, edits.sooner, "what comes behind is in no group"),
    Operator("arrive too soon", (*_SIGNALS, "bar|barrier.arrive"), edits.sooner, "others go on while it is in use"),
    Operator(
        "let every thread",
        (*_SIGNALS, *_COPIES, *_COMMITS, "mbarrier.init", "st|red|atom|stmatrix"),
        edits.unguard,
        "more threads do it than should",
    ),
    Operator(
        "let the other threads",
        (*_SIGNALS, *_COPIES, "mbarrier.init", "bra", "st|red"),
        edits.invert_guard,
        "those do it who should not",
    ),
)

OPERATORS = (*DROPS, *NUMBERS, *ADDRESSES, *WORDS, *ORDER)
