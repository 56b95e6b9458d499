"""`ptx.tcgen05.cp` and `shift`: copy from shared to tensor memory, and shift rows of a matrix down by one.

Manual: "Tensor Memory Data Movement Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.ptx.matrix_descriptors import matrix_operand
from pyptx_arch_blackwell.ptx.operands import cta_group_word, place_in_tensor_memory
from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["cp", "shift"]

_COPY = InstructionForms("ptx.tcgen05.cp", "tcgen05.cp")
_SHIFT = InstructionForms("ptx.tcgen05.shift", "tcgen05.shift")
_SHAPES = ("128x256b", "4x256b", "128x128b", "64x128b", "32x128b")
_MULTICASTS = {"64x128b": ("warpx2::02_13", "warpx2::01_23"), "32x128b": ("warpx4",)}
_FORMATS = {"b4": "b4x16_p64", "b6": "b6x16_p32", "b4x16_p64": "b4x16_p64", "b6x16_p32": "b6x16_p32"}


@emits("tcgen05.cp", src="descriptor", size="shape", decompress="format")
def cp(
    taddr: object,
    src: object,
    *,
    cta_group: int | str = 1,
    size: str = "128x256b",
    multicast: str | None = None,
    decompress: str | None = None,
    src_is_addr: bool | None = None,
    pred: Reg | None = None,
) -> None:
    """Emit `tcgen05.cp.cta_group::N.size{.multicast}{.b8x16.format} [taddr], src;`: one thread copies a matrix.

    `src` is the descriptor of a matrix in shared memory, or a tile of `smem.tile`, or a stage of a tile; the descriptor
    of a tile is computed before the copy. `size` is lanes x bits: 128x256b, 4x256b, 128x128b; 64x128b, with each half
    copied to the lanes of two warps (`multicast="warpx2::02_13"` or `"warpx2::01_23"`); 32x128b, with a copy in the
    lanes of each of the four warps. With `cta_group=2` each CTA of the pair copies from its own shared memory.
    `decompress="b4"` or `"b6"` widens elements of 4 or 6 bits to bytes; in the source, 16 elements are followed by 8 or
    4 bytes of padding. `commit` tracks completion.
    """
    what = "ptx.tcgen05.cp"
    if src_is_addr:
        raise OperandError(
            f"{what}: src_is_addr=True is not supported: the source must be a descriptor",
            help="pass ptx.tcgen05.descriptor(tile)",
        )
    if size not in _SHAPES:
        raise OperandError(f"{what}: invalid size {size!r}", help=f"use one of {', '.join(_SHAPES)}")
    choices = _MULTICASTS.get(size, ())
    word = choices[0] if multicast is None and len(choices) == 1 else multicast
    if (word is None) == bool(choices) or (word is not None and word not in choices):
        known = f"use multicast={' or '.join(choices)} for {size}" if choices else f"leave multicast= out for {size}"
        raise OperandError(f"{what}: invalid multicast {multicast!r} for {size}", help=known)
    if decompress is not None and decompress not in _FORMATS:
        raise OperandError(f"{what}: decompress={decompress!r}", help='use "b4" or "b6", the bits of an element')
    words = _COPY.words(
        cta_group=cta_group_word(what, cta_group),
        shape=size,
        multicast=word,
        format=None if decompress is None else _FORMATS[decompress],
    )
    source = matrix_operand(what, "src", src)
    active(what).emit(words, (place_in_tensor_memory(what, "taddr", taddr), source), pred)


@emits("tcgen05.shift")
def shift(taddr: object, *, cta_group: int | str = 1, pred: Reg | None = None) -> None:
    """Emit `tcgen05.shift.cta_group::N.down [taddr];`: one thread moves rows of 32 bytes down by one, except the last.

    The lane of `taddr` is a multiple of 32 (sm_100a, sm_103a, sm_110a only).
    """
    what = "ptx.tcgen05.shift"
    if isinstance(taddr, TensorMemory) and taddr.first_lane % 32:
        raise OperandError(f"{what}: {taddr!r} starts at lane {taddr.first_lane}", help="start at a multiple of 32")
    words = _SHIFT.words(cta_group=cta_group_word(what, cta_group))
    active(what).emit(words, (place_in_tensor_memory(what, "taddr", taddr),), pred)
