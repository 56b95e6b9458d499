"""Fault injection: mutation operators for Blackwell's instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_arch_blackwell.sim import launch_control
from pyptx_ir.syntax import evolve
from pyptx_ir.syntax.operands import Address, Negated, Register
from pyptx_sim.extension import Mutation, edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_sim.extension.mutation import Change, Edit, MutationSite

__all__ = ["MUTATIONS"]

_PRODUCTS: Final = ("tcgen05.mma",)
_PIPED: Final = ("tcgen05.mma|cp|shift",)
_MOVES: Final = ("tcgen05.ld|st",)
_ALLOCATIONS: Final = ("tcgen05.alloc|dealloc",)
_QUARTER: Final = 32 << 16  # 32 lanes of tensor memory, in the upper half of an address

# Bits to change in the instruction descriptor. Manual: "Instruction descriptor".
_FEWER_COLUMNS: Final = -(1 << 17)
_MORE_COLUMNS: Final = 1 << 17
_ANOTHER_TYPE: Final = 1 << 7
_HALF_THE_ROWS: Final = 0xC << 24  # changes M from 128 to 64 or back, for kinds without scale factors
_NEGATED: Final = 1 << 13
_SCALE_OF_B: Final = 1 << 4
_SCALE_OF_A: Final = 1 << 29


def _after_descriptor(node: Instruction) -> int:
    """Return the index of the first operand after the instruction descriptor of an MMA."""
    return 5 if "sp" in node.opcode else 4


def _adds(node: Instruction) -> int | None:
    """Return the index of the predicate for accumulation: after the descriptor, lanes and scale factors."""
    for index, operand in enumerate(node.operands[_after_descriptor(node) :], _after_descriptor(node)):
        if isinstance(operand, Register | Negated):
            return index
    return None


def _described(edit_of: Edit, sparse: Edit) -> Edit:
    """Edit the instruction descriptor of an MMA: the fourth operand, the fifth of a sparse one."""
    return lambda site: (sparse if "sp" in site.instruction.opcode else edit_of)(site)


def _add_to_descriptor(delta: int) -> Edit:
    return _described(edits.add(3, delta), edits.add(4, delta))


def _flip_in_descriptor(mask: int) -> Edit:
    return _described(edits.flip(3, mask), edits.flip(4, mask))


def _alone(site: MutationSite) -> Iterator[Change]:
    """Make a multicast commit arrive in one CTA."""
    node = site.instruction
    opcode = tuple(word for word in node.opcode if not word.startswith("multicast::"))
    if opcode != node.opcode:
        yield {site.at: (evolve(node, opcode=opcode, operands=node.operands[:1]),)}


def _all_rows(site: MutationSite) -> Iterator[Change]:
    """Copy 128 rows to 128 lanes, instead of 32 rows to every lane quarter."""
    node = site.instruction
    opcode = tuple("128x128b" if word == "32x128b" else word for word in node.opcode if word != "warpx4")
    if opcode != node.opcode:
        yield {site.at: (evolve(node, opcode=opcode),)}


def _at_scales(delta: int) -> Edit:
    """Move the addresses of scale factors by columns, one at a time."""

    def edit(site: MutationSite) -> Iterator[Change]:
        for index, operand in enumerate(site.instruction.operands):
            if index >= _after_descriptor(site.instruction) and isinstance(operand, Address):
                yield from edits.shift(index, delta)(site)

    return edit


_ALLOCATING: Final = (
    Mutation(
        "allocate fewer columns", ("tcgen05.alloc",), edits.scale(1, 1, 2), "columns are used that are not allocated"
    ),
    Mutation("allocate more columns", ("tcgen05.alloc",), edits.scale(1, 2, 1), "some columns are never freed"),
    Mutation("allocate twice", ("tcgen05.alloc",), edits.twice, "the first columns are never freed"),
    Mutation("allocate too late", ("tcgen05.alloc",), edits.later, "the permit is relinquished before"),
    Mutation("drop an allocation", ("tcgen05.alloc",), edits.drop, "no columns are allocated"),
    Mutation("drop a deallocation", ("tcgen05.dealloc",), edits.drop, "columns are never freed"),
    Mutation("free fewer columns", ("tcgen05.dealloc",), edits.scale(1, 1, 2), "some columns are never freed"),
    Mutation("free other columns", ("tcgen05.dealloc",), edits.add(0, 32), "the columns are not allocated there"),
    Mutation("free twice", ("tcgen05.dealloc",), edits.twice, "the columns are already free"),
)
_WAITING: Final = (
    Mutation("drop a wait for loads", ("tcgen05.wait::ld",), edits.drop, "loads may still read"),
    Mutation("drop a wait for stores", ("tcgen05.wait::st",), edits.drop, "stores may not be complete"),
    Mutation("wait for stores, not loads", ("tcgen05",), edits.word("wait::ld", "wait::st"), "loads may still read"),
    Mutation("wait for loads, not stores", ("tcgen05",), edits.word("wait::st", "wait::ld"), "stores are incomplete"),
    Mutation("drop a tcgen05 fence", ("tcgen05.fence::before_thread_sync|fence::after_thread_sync",), edits.drop,
             "tcgen05 operations are not ordered"),
    Mutation("drop an MMA commit", ("tcgen05.commit",), edits.drop, "no mbarrier is signaled"),
    Mutation("arrive instead of commit", ("tcgen05.commit",), edits.become("mbarrier.arrive.shared::cta.b64", "_", 0),
             "the arrive does not wait for the MMAs"),
    Mutation("commit MMAs too soon", ("tcgen05.commit",), edits.sooner, "the commit does not track later MMAs"),
    Mutation("commit to the next mbarrier", ("tcgen05.commit",), edits.shift(0, 8), "another mbarrier is signaled"),
    Mutation("commit to one CTA", ("tcgen05.commit",), _alone, "the peer CTA is never signaled"),
    Mutation("commit to another CTA", ("tcgen05.commit",), edits.another_block, "a CTA is never signaled",
             having="multicast::cluster"),
)  # fmt: skip
_PLACES: Final = (
    Mutation(
        "load a quarter off", ("tcgen05.ld",), edits.shift(1, _QUARTER), "the lanes are in another warp's quarter"
    ),
    Mutation(
        "store a quarter off", ("tcgen05.st",), edits.shift(0, _QUARTER), "the lanes are in another warp's quarter"
    ),
    Mutation("load columns off", ("tcgen05.ld",), edits.shift(1, 8), "other words are read"),
    Mutation("store columns off", ("tcgen05.st",), edits.shift(0, 8), "other words are written"),
    Mutation("load far columns", ("tcgen05.ld",), edits.shift(1, 64), "the columns are not allocated"),
    Mutation("multiply into other columns", _PRODUCTS, edits.shift(0, 8), "the accumulator is elsewhere"),
    Mutation("multiply into other lanes", _PRODUCTS, edits.shift(0, _QUARTER), "the accumulator exceeds the lanes"),
    Mutation("multiply other columns", _PRODUCTS, edits.shift(1, 8), "operand A is read from other columns"),
    Mutation(
        "scale by other columns",
        _PRODUCTS,
        _at_scales(4),
        "other scale factors are read",
        having="block_scale",
    ),
    Mutation("copy to other columns", ("tcgen05.cp",), edits.shift(0, 4), "other words are written"),
    Mutation("copy to other lanes", ("tcgen05.cp",), edits.shift(0, _QUARTER), "other words are written"),
    Mutation("copy other rows", ("tcgen05.cp",), edits.add(1, 8, bits=64), "other words are read"),
    Mutation("copy all rows", ("tcgen05.cp",), _all_rows, "lane quarters have other scale factors"),
)
_DESCRIBING: Final = (
    Mutation("shift a tcgen05 descriptor", _PRODUCTS,
             edits.each(edits.add(1, 8, bits=64), edits.add(2, 8, bits=64)), "the MMA reads other rows"),
    Mutation("change the swizzle of a tcgen05 descriptor", _PRODUCTS,
             edits.each(edits.flip(1, 3 << 62, bits=64), edits.flip(2, 3 << 62, bits=64)),
             "the tile was written with another swizzle"),
    Mutation("stride a tcgen05 descriptor otherwise", _PRODUCTS,
             edits.each(edits.add(1, 1 << 32, bits=64), edits.add(2, 1 << 32, bits=64)), "the MMA reads other rows"),
    Mutation("clear the version of a descriptor", _PRODUCTS,
             edits.each(edits.flip(1, 1 << 46, bits=64), edits.flip(2, 1 << 46, bits=64)), "the descriptor is invalid"),
    Mutation("multiply fewer columns", _PRODUCTS, _add_to_descriptor(_FEWER_COLUMNS), "accumulators are missing"),
    Mutation("multiply more columns", _PRODUCTS, _add_to_descriptor(_MORE_COLUMNS), "other columns are overwritten"),
    Mutation("multiply other types", _PRODUCTS, _flip_in_descriptor(_ANOTHER_TYPE), "bits are decoded as another type"),
    Mutation("multiply half of the rows", _PRODUCTS, _flip_in_descriptor(_HALF_THE_ROWS), "accumulators are missing"),
    Mutation("negate a factor", _PRODUCTS, _flip_in_descriptor(_NEGATED), "the accumulator has the opposite sign"),
    Mutation("take other scales", _PRODUCTS,
             edits.each(_flip_in_descriptor(_SCALE_OF_A), _flip_in_descriptor(_SCALE_OF_B)),
             "scale factors of other elements are used", having="block_scale"),
    Mutation("overwrite, or add", _PRODUCTS, edits.invert(_adds), "accumulators lose old values, or keep them"),
)  # fmt: skip
_ISSUING: Final = (
    Mutation("drop an MMA", _PRODUCTS, edits.drop, "part of the dot product is missing"),
    Mutation("drop a copy to tensor memory", ("tcgen05.cp",), edits.drop, "the words are not copied"),
    Mutation("copy after the MMA", ("tcgen05.cp",), edits.behind("tcgen05", "mma"), "the words are copied too late"),
    Mutation("drop a load or a store", _MOVES, edits.drop, "the words are not copied"),
    Mutation("use one CTA of the pair", (*_PIPED, *_ALLOCATIONS, "tcgen05.commit"),
             edits.word("cta_group::2", "cta_group::1"), "the CTA pair disagrees"),
    Mutation("use an empty collector buffer", _PRODUCTS,
             edits.each(edits.word("collector::a::fill", "collector::a::use"),
                        edits.word("collector::b0::fill", "collector::b0::use")),
             "the collector buffer holds another matrix"),
)  # fmt: skip

MUTATIONS: Final = (*_ALLOCATING, *_WAITING, *_PLACES, *_DESCRIBING, *_ISSUING, *launch_control.MUTATIONS)
