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
_QUARTER: Final = 32 << 16  # a distance of 32 lanes, in the lane field (bits 31-16) of a tensor memory address

# Injected faults: bits of the instruction descriptor to change. Manual: "Instruction descriptor".
_FEWER_COLUMNS: Final = -(1 << 17)
_MORE_COLUMNS: Final = 1 << 17
_ANOTHER_TYPE: Final = 1 << 7
# Bits of field M: flipping both exchanges M = 128 and M = 64 (MMAs without scale factors).
_HALF_THE_ROWS: Final = 0xC << 24
_NEGATED: Final = 1 << 13
_SCALE_OF_B: Final = 1 << 4
_SCALE_OF_A: Final = 1 << 29


def _after_descriptor(node: Instruction) -> int:
    """Return the index of the first operand after the instruction descriptor of an MMA."""
    return 5 if "sp" in node.opcode else 4


def _adds(node: Instruction) -> int | None:
    """Return the operand index of the accumulation predicate, which follows idesc, lane mask and scale factors."""
    for index, operand in enumerate(node.operands[_after_descriptor(node) :], _after_descriptor(node)):
        if isinstance(operand, Register | Negated):
            return index
    return None


def _described(edit_of: Edit, sparse: Edit) -> Edit:
    """Return the edit of an MMA's instruction descriptor: operand 3, or operand 4 of a sparse MMA."""
    return lambda site: (sparse if "sp" in site.instruction.opcode else edit_of)(site)


def _add_to_descriptor(delta: int) -> Edit:
    return _described(edits.add(3, delta), edits.add(4, delta))


def _flip_in_descriptor(mask: int) -> Edit:
    return _described(edits.flip(3, mask), edits.flip(4, mask))


def _alone(site: MutationSite) -> Iterator[Change]:
    """Make a multicast tcgen05.commit arrive only at the mbarrier of its own CTA."""
    node = site.instruction
    opcode = tuple(word for word in node.opcode if not word.startswith("multicast::"))
    if opcode != node.opcode:
        yield {site.at: (evolve(node, opcode=opcode, operands=node.operands[:1]),)}


def _all_rows(site: MutationSite) -> Iterator[Change]:
    """Make tcgen05.cp copy 128 rows to 128 lanes, instead of 32 rows to every lane quarter."""
    node = site.instruction
    opcode = tuple("128x128b" if word == "32x128b" else word for word in node.opcode if word != "warpx4")
    if opcode != node.opcode:
        yield {site.at: (evolve(node, opcode=opcode),)}


def _at_scales(delta: int) -> Edit:
    """Return the edit that adds `delta` columns to the address of A's or B's scale factors."""

    def edit(site: MutationSite) -> Iterator[Change]:
        for index, operand in enumerate(site.instruction.operands):
            if index >= _after_descriptor(site.instruction) and isinstance(operand, Address):
                yield from edits.shift(index, delta)(site)

    return edit


_ALLOCATING: Final = (
    Mutation(
        "allocate half of the columns",
        ("tcgen05.alloc",),
        edits.scale(1, 1, 2),
        "the kernel accesses columns that are not allocated",
    ),
    Mutation(
        "allocate twice as many columns",
        ("tcgen05.alloc",),
        edits.scale(1, 2, 1),
        "some allocated tensor memory columns are never freed",
    ),
    Mutation(
        "execute a tcgen05.alloc twice",
        ("tcgen05.alloc",),
        edits.twice,
        "the tensor memory columns of the first allocation are never freed",
    ),
    Mutation(
        "swap a tcgen05.alloc with the next instruction",
        ("tcgen05.alloc",),
        edits.later,
        "the allocation permit is relinquished before tcgen05.alloc",
    ),
    Mutation("drop a tcgen05.alloc", ("tcgen05.alloc",), edits.drop, "no tensor memory columns are allocated"),
    Mutation("drop a tcgen05.dealloc", ("tcgen05.dealloc",), edits.drop, "tensor memory columns are never freed"),
    Mutation(
        "free half of the allocated columns",
        ("tcgen05.dealloc",),
        edits.scale(1, 1, 2),
        "some allocated tensor memory columns are never freed",
    ),
    Mutation(
        "add 32 columns to the address of a tcgen05.dealloc",
        ("tcgen05.dealloc",),
        edits.add(0, 32),
        "no allocation of tensor memory starts at the column that is freed",
    ),
    Mutation(
        "execute a tcgen05.dealloc twice",
        ("tcgen05.dealloc",),
        edits.twice,
        "the second tcgen05.dealloc frees columns that are already free",
    ),
)
_WAITING: Final = (
    Mutation("drop a tcgen05.wait::ld", ("tcgen05.wait::ld",), edits.drop, "tcgen05.ld may be outstanding"),
    Mutation("drop a tcgen05.wait::st", ("tcgen05.wait::st",), edits.drop, "tcgen05.st may be outstanding"),
    Mutation("change tcgen05.wait::ld to ::st", ("tcgen05",), edits.word("wait::ld", "wait::st"),
             "tcgen05.ld may be outstanding"),
    Mutation("change tcgen05.wait::st to ::ld", ("tcgen05",), edits.word("wait::st", "wait::ld"),
             "tcgen05.st may be outstanding"),
    Mutation("drop a tcgen05 fence", ("tcgen05.fence::before_thread_sync|fence::after_thread_sync",), edits.drop,
             "tcgen05 operations are not ordered with thread synchronization"),
    Mutation("drop a tcgen05.commit", ("tcgen05.commit",), edits.drop, "completion of the MMAs signals no mbarrier"),
    Mutation("replace tcgen05.commit by mbarrier.arrive", ("tcgen05.commit",),
             edits.become("mbarrier.arrive.shared::cta.b64", "_", 0),
             "mbarrier.arrive does not wait for the MMAs"),
    Mutation("move a tcgen05.commit before preceding memory accesses", ("tcgen05.commit",), edits.sooner,
             "tcgen05.commit does not track MMAs after it"),
    Mutation("add 8 bytes to the mbarrier address of a tcgen05.commit", ("tcgen05.commit",), edits.shift(0, 8),
             "tcgen05.commit signals a wrong mbarrier"),
    Mutation("drop the multicast of a tcgen05.commit", ("tcgen05.commit",), _alone,
             "tcgen05.commit never signals the peer CTA"),
    Mutation("flip bit 1 of the CTA mask of a tcgen05.commit", ("tcgen05.commit",), edits.another_block,
             "tcgen05.commit never signals the mbarrier of one CTA in the mask",
             having="multicast::cluster"),
)  # fmt: skip
_PLACES: Final = (
    Mutation(
        "add 32 lanes to the address of a tcgen05.ld",
        ("tcgen05.ld",),
        edits.shift(1, _QUARTER),
        "the warp accesses the tensor memory lanes of another warp",
    ),
    Mutation(
        "add 32 lanes to the address of a tcgen05.st",
        ("tcgen05.st",),
        edits.shift(0, _QUARTER),
        "the warp accesses the tensor memory lanes of another warp",
    ),
    Mutation(
        "add 8 columns to the address of a tcgen05.ld",
        ("tcgen05.ld",),
        edits.shift(1, 8),
        "tcgen05.ld reads wrong tensor memory columns",
    ),
    Mutation(
        "add 8 columns to the address of a tcgen05.st",
        ("tcgen05.st",),
        edits.shift(0, 8),
        "tcgen05.st writes wrong tensor memory columns",
    ),
    Mutation(
        "add 64 columns to the address of a tcgen05.ld",
        ("tcgen05.ld",),
        edits.shift(1, 64),
        "tcgen05.ld reads columns that are not allocated",
    ),
    Mutation(
        "add 8 columns to the accumulator address of an MMA",
        _PRODUCTS,
        edits.shift(0, 8),
        "the MMA writes columns outside the accumulator",
    ),
    Mutation(
        "add 32 lanes to the accumulator address of an MMA",
        _PRODUCTS,
        edits.shift(0, _QUARTER),
        "the accumulator extends past the last lane",
    ),
    Mutation(
        "add 8 columns to the tensor memory address of A",
        _PRODUCTS,
        edits.shift(1, 8),
        "operand A is read from wrong tensor memory columns",
    ),
    Mutation(
        "add 4 columns to a scale factor address of an MMA",
        _PRODUCTS,
        _at_scales(4),
        "the MMA reads scale factors at a wrong address",
        having="block_scale",
    ),
    Mutation(
        "add 4 columns to the destination of a tcgen05.cp",
        ("tcgen05.cp",),
        edits.shift(0, 4),
        "tcgen05.cp writes wrong tensor memory columns",
    ),
    Mutation(
        "add 32 lanes to the destination of a tcgen05.cp",
        ("tcgen05.cp",),
        edits.shift(0, _QUARTER),
        "tcgen05.cp writes wrong tensor memory lanes",
    ),
    Mutation(
        "add 128 bytes to the source of a tcgen05.cp",
        ("tcgen05.cp",),
        edits.add(1, 8, bits=64),
        "tcgen05.cp reads wrong rows of shared memory",
    ),
    Mutation(
        "copy 128x128b instead of 32x128b.warpx4",
        ("tcgen05.cp",),
        _all_rows,
        "scale factors differ between lane quarters",
    ),
)
_DESCRIBING: Final = (
    Mutation("add 128 bytes to the address in a tcgen05 descriptor", _PRODUCTS,
             edits.each(edits.add(1, 8, bits=64), edits.add(2, 8, bits=64)), "the MMA reads wrong rows of A or B"),
    Mutation("change the swizzle of a tcgen05 descriptor", _PRODUCTS,
             edits.each(edits.flip(1, 3 << 62, bits=64), edits.flip(2, 3 << 62, bits=64)),
             "A or B was written with a different swizzle"),
    Mutation("add 16 to the stride byte offset of a tcgen05 descriptor", _PRODUCTS,
             edits.each(edits.add(1, 1 << 32, bits=64), edits.add(2, 1 << 32, bits=64)),
             "the MMA reads wrong rows of A or B"),
    Mutation("clear the version of a tcgen05 descriptor", _PRODUCTS,
             edits.each(edits.flip(1, 1 << 46, bits=64), edits.flip(2, 1 << 46, bits=64)),
             "the matrix descriptor is invalid"),
    Mutation("subtract 8 from N of an instruction descriptor", _PRODUCTS, _add_to_descriptor(_FEWER_COLUMNS),
             "the MMA does not write 8 accumulator columns"),
    Mutation("add 8 to N of an instruction descriptor", _PRODUCTS, _add_to_descriptor(_MORE_COLUMNS),
             "the MMA overwrites columns next to the accumulator"),
    Mutation("flip a type bit of A in an instruction descriptor", _PRODUCTS, _flip_in_descriptor(_ANOTHER_TYPE),
             "bits of A are decoded as another type"),
    Mutation("change M from 128 to 64 or back", _PRODUCTS, _flip_in_descriptor(_HALF_THE_ROWS),
             "the MMA does not write half of the accumulator rows"),
    Mutation("negate A in an instruction descriptor", _PRODUCTS, _flip_in_descriptor(_NEGATED),
             "the products A x B have the opposite sign"),
    Mutation("flip a scale factor ID in an instruction descriptor", _PRODUCTS,
             edits.each(_flip_in_descriptor(_SCALE_OF_A), _flip_in_descriptor(_SCALE_OF_B)),
             "the MMA uses scale factors of other elements", having="block_scale"),
    Mutation("negate the accumulation predicate of an MMA", _PRODUCTS, edits.invert(_adds),
             "an MMA that must add to the accumulator overwrites it, or the reverse"),
)  # fmt: skip
_ISSUING: Final = (
    Mutation("drop an MMA", _PRODUCTS, edits.drop, "part of the dot product is missing from the accumulator"),
    Mutation("drop a tcgen05.cp", ("tcgen05.cp",), edits.drop, "the destination in tensor memory keeps its old values"),
    Mutation("move a tcgen05.cp after the next MMA", ("tcgen05.cp",), edits.behind("tcgen05", "mma"),
             "the MMA reads tensor memory before tcgen05.cp writes it"),
    Mutation("drop a tcgen05.ld or tcgen05.st", _MOVES, edits.drop,
             "the destination (registers or tensor memory) keeps its old values"),
    Mutation("change .cta_group::2 to .cta_group::1", (*_PIPED, *_ALLOCATIONS, "tcgen05.commit"),
             edits.word("cta_group::2", "cta_group::1"), "the CTAs of a pair execute different instructions"),
    Mutation("change .collector fill to use", _PRODUCTS,
             edits.each(edits.word("collector::a::fill", "collector::a::use"),
                        edits.word("collector::b0::fill", "collector::b0::use")),
             "the collector buffer contains a different matrix than A or B"),
)  # fmt: skip

MUTATIONS: Final = (*_ALLOCATING, *_WAITING, *_PLACES, *_DESCRIBING, *_ISSUING, *launch_control.MUTATIONS)
