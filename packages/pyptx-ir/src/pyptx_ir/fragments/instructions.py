"""Fragments of the matrix operands of an instruction, from its opcode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.fragments.lookup import fragment_of, move_of
from pyptx_ir.isa.binding import nearest
from pyptx_ir.isa.kinds.fragments import element_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.fragments.layout import Fragment
    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.syntax.nodes import Instruction

_MOVES: Final = ("ldmatrix", "stmatrix")
_MATRICES: Final = ("mma", "wmma", "wgmma")
_TENSOR_MEMORY: Final = "tcgen05"
_KIND: Final = "fragment("


def fragments_in(instruction: Instruction) -> dict[str, Fragment]:
    """Return the layouts of an instruction's matrix operands in registers, by operand name.

    The result is empty for an instruction without such operands, for an invalid opcode, and for a move whose layout no
    plugin defines. An `ldmatrix` or `stmatrix` of several matrices has this layout for each of them. That of
    `tcgen05.ld` and `tcgen05.st` has the lanes of tensor memory as rows: which element of a matrix a cell holds depends
    on the MMA that wrote it.
    """
    name = instruction.opcode[0]
    if name not in (*_MOVES, *_MATRICES, _TENSOR_MEMORY):
        return {}
    form = nearest(instruction)
    if form is None:
        return {}
    if name == _TENSOR_MEMORY:
        return dict(_of_cells(form))
    return dict(_moved(form) if name in _MOVES else _multiplied(form))


def _of_cells(form: Bound) -> Iterator[tuple[str, Fragment]]:
    """Yield the layout of the registers of `tcgen05.ld` or `tcgen05.st` over lanes and columns of tensor memory."""
    name, words = ".".join(form.instruction.opcode[:2]), form.words
    if "r" in form.operands and form.word("num"):
        packed = "16b" if any(word.endswith("pack::16b") for word in words) else "32b"
        yield "r", fragment_of(name, f"{form.word('shape')}.{form.word('num')}", "r", packed)


def _moved(form: Bound) -> Iterator[tuple[str, Fragment]]:
    """Yield the layout of one matrix of `ldmatrix` or `stmatrix`."""
    types = [form.word(slot) for slot in ("type", "source") if form.word(slot)]
    try:
        move = move_of(form.word("shape"), *types, transposed="trans" in form.words)
    except ValueError:
        return
    yield "r" if "r" in form.operands else "d", move.fragment


def _multiplied(form: Bound) -> Iterator[tuple[str, Fragment]]:
    """Yield the layouts of the operands of an MMA, and of `wmma.load` and `wmma.store`."""
    name, *others = form.instruction.opcode
    sparse = ".sp" if any(word.partition("::")[0] == "sp" for word in others) else ""
    for operand, place in form.places.items():
        if place.kind.startswith(_KIND):
            which, order = form.word("which") or operand, form.word(f"{operand}layout")
            yield operand, fragment_of(name + sparse, form.word("shape"), which, element_of(place, form.words), order)
    if sparse and "e" in form.places:
        element = element_of(form.places["a"], form.words)
        yield "e", fragment_of(name + sparse, form.word("shape"), "e", element)
