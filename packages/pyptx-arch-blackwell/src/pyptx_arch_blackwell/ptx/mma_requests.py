"""MMA requested by a `ptx.tcgen05` call: kind, instruction descriptor and operands, checked for consistency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_arch_blackwell.descriptors import KINDS, SCALED_KINDS, DescriptorError, InstructionDescriptor
from pyptx_arch_blackwell.layouts.scale_factors import scale_factors
from pyptx_arch_blackwell.mma import (
    SCALE_SIZES,
    MmaError,
    check,
    check_scales,
    check_swizzle,
    container_bits,
    find,
    kind_of,
)
from pyptx_arch_blackwell.ptx.matrix_descriptors import matrix_operand, shared_descriptor
from pyptx_arch_blackwell.ptx.operands import is_place, place_in_tensor_memory, refused
from pyptx_arch_blackwell.ptx.tensor_memory import TensorMemory
from pyptx_dsl.errors import OperandError, RegisterTypeError
from pyptx_dsl.instructions.forms.instruction_forms import ptx_type
from pyptx_dsl.instructions.groups.matrix_descriptors import tile_of
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import u32
from pyptx_ir.isa.targets import includes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_arch_blackwell.layouts.scale_factors import Operand
    from pyptx_arch_blackwell.mma import MmaTypes
    from pyptx_dsl.shared_memory.tiles import SharedTile

__all__ = ["Request", "scale_size"]

_USUAL = "f16"
_DEEP, _DEEP_TARGET = 96, "sm_103a"
_WORD_BITS = 32
_OPERANDS: tuple[Operand, Operand] = ("a", "b")


def scale_size(what: str, kind: str, scale_vec: object, block: object) -> str | None:
    """Return the modifier after `.block_scale`, such as `block16`; raise OperandError for an invalid block size."""
    if scale_vec is not None and block is not None:
        raise OperandError(
            f"{what}: scale_vec={scale_vec!r} and block={block!r} have the same meaning",
            help="pass scale_vec= or block=, not both",
        )
    said = f"block{block}" if block is not None else scale_vec
    if said is None:
        if kind == "mxf4nvf4":
            raise OperandError(
                f"{what}: kind::{kind} needs block= or scale_vec=, the number of elements per scale factor",
                help='pass block=16, or scale_vec="4X"',
            )
        return None
    known = SCALE_SIZES.get(kind, ())
    for word in (str(said), f"scale_vec::{said}"):
        if word in known:
            return word
    short = ", ".join(word.removeprefix("scale_vec::") for word in known)
    raise OperandError(
        f"{what}: kind::{kind} does not support {said!r}",
        help=f"use {short}" if known else "omit the block size: the kind has no scale factors",
    )


@dataclass(frozen=True, slots=True)
class Request:
    """MMA properties requested by a call, without operands; `types`: d, a, b and the scale factors, if given."""

    what: str
    kind: str | None
    cta_group: int
    ws: bool
    sparse: bool
    scaled: bool
    shape: Sequence[int] | None
    types: tuple[object, object, object, object]
    turns: tuple[object, object]

    def described(self, idesc: object, a: object, b: object) -> tuple[str, object, InstructionDescriptor | None]:
        """Return the kind, the operand `idesc`, and the decoded instruction descriptor, None if unknown."""
        if isinstance(idesc, InstructionDescriptor):
            self._refuse_said_twice(idesc)
            return self._checked(idesc)
        if idesc is None:
            return self._checked(self._built(a, b))
        kind = self._kind_of_register()
        number = as_integer(idesc)
        if number is not None and kind in KINDS:
            return self._checked(self._decoded(kind, number))
        if isinstance(idesc, Reg) and (not idesc.dtype.is_integer or idesc.dtype.bits != u32.bits):
            raise RegisterTypeError(
                f"{self.what}: idesc must be a 32-bit register, got the {idesc.dtype} register {idesc.raw_name}",
                help="pass a 32-bit register or an InstructionDescriptor, or leave idesc out and pass shape=, "
                "dtype_d=, dtype_a=, dtype_b=",
            )
        self._refuse_said_twice(idesc)
        return kind, idesc, None

    def _kind_of_register(self) -> str:
        if self.kind is not None:
            return self.kind
        if self.scaled:
            known = ", ".join(SCALED_KINDS)
            raise OperandError(
                f"{self.what}: an MMA with scale factors needs kind=", help=f"pass kind=, one of {known}"
            )
        return _USUAL

    def _refuse_said_twice(self, idesc: object) -> None:
        if self.shape is not None or any(each is not None for each in (*self.types, *self.turns)):
            raise OperandError(
                f"{self.what}: idesc={idesc!r} already contains shape, types and transpositions",
                help="leave out idesc, or shape=, types and transpositions",
            )

    def _decoded(self, kind: str, number: int) -> InstructionDescriptor:
        try:
            return InstructionDescriptor.decode(kind, number)
        except DescriptorError as error:
            refused(f"{self.what}: invalid idesc for kind::{kind}", error)

    def _built(self, a: object, b: object) -> InstructionDescriptor:
        """Return the instruction descriptor of the given shape and types; majors default to those of the tiles."""
        if self.shape is None or any(each is None for each in self.types[:3]):
            raise OperandError(
                f"{self.what}: missing shape and types",
                help="pass idesc=InstructionDescriptor(…), or shape=(M, N, K), dtype_d=, dtype_a=, dtype_b=",
            )
        d_type, a_type, b_type = (ptx_type(each, self.what).name for each in self.types[:3])
        scale = None if self.types[3] is None else ptx_type(self.types[3], self.what).name
        try:
            kind = self.kind or kind_of(a_type, b_type, scaled=self.scaled, scale=scale)
            found = InstructionDescriptor(
                kind,
                d=d_type,
                a=a_type,
                b=b_type,
                m=self.shape[0],
                n=self.shape[1],
                depth=self.shape[2] if len(self.shape) > 2 else 0,
                scale=scale,
                sparse=self.sparse,
                a_major=self._major("a", a, self.turns[0]),
                b_major=self._major("b", b, self.turns[1]),
            )
        except (DescriptorError, MmaError) as error:
            refused(self.what, error)
        return found

    def _major(self, name: str, value: object, turn: object) -> str:
        tile = tile_of(value)
        if turn is None:
            return "K" if tile is None else tile.major
        if as_integer(turn) not in {0, 1}:
            raise OperandError(f"{self.what}: trans_{name} must be 0 (K-major) or 1 (MN-major), got {turn!r}")
        return ("K", "MN")[as_integer(turn) or 0]

    def _checked(self, found: InstructionDescriptor) -> tuple[str, object, InstructionDescriptor]:
        if self.kind is not None and self.kind != found.kind:
            raise OperandError(
                f"{self.what}: kind={self.kind!r}, but idesc has kind::{found.kind}", help="leave kind= out"
            )
        if found.sparse != self.sparse:
            name = f"mma{'_ws' if self.ws else ''}"
            call = f"ptx.tcgen05.{name}_sp" if found.sparse else f"ptx.tcgen05.{name}"
            raise OperandError(
                f"{self.what}: idesc describes a {'sparse' if found.sparse else 'dense'} MMA", help=f"call {call}"
            )
        try:
            check(found, cta_group=self.cta_group, ws=self.ws)
        except MmaError as error:
            refused(self.what, error)
        if found.depth == _DEEP and not includes(active(self.what).target, _DEEP_TARGET):
            raise OperandError(
                f"{self.what}: K = {_DEEP} needs {_DEEP_TARGET}; this kernel targets {active(self.what).target}",
                help=f"use K = {_DEEP // 3 * 2}",
            )
        return found.kind, tree.Immediate(str(found.bits)), found

    def row(self, kind: str) -> MmaTypes | None:
        """Return the valid types and shapes of the requested MMA; None for a kind outside `KINDS`."""
        if kind not in KINDS:
            return None
        try:
            return find(kind, cta_group=self.cta_group, ws=self.ws, sparse=self.sparse)
        except MmaError as error:
            refused(self.what, error)

    # --- operands A and B -----------------------------------------------------------------------------

    def factor(
        self, name: str, value: object, byte_offset: int, kind: str, found: InstructionDescriptor | None
    ) -> object:
        """Return operand A or B: a tensor memory address, or a descriptor, computed from a tile if necessary."""
        if name == "a" and is_place(value):
            if byte_offset:
                raise OperandError(
                    f"{self.what}: a_k_offset={byte_offset} is not valid for {value!r}", help="slice it: t[:, columns:]"
                )
            self._check_place(value, kind, found)
            return place_in_tensor_memory(self.what, name, value)
        if name == "b" and is_place(value):
            raise OperandError(
                f"{self.what}: b must be in shared memory, got {value!r}", help="pass a tile or a descriptor"
            )
        tile = tile_of(value)
        if tile is not None and kind in KINDS:
            self._check_tile(name, tile, kind, found)
        return matrix_operand(self.what, name, value, byte_offset)

    def _check_place(self, value: object, kind: str, found: InstructionDescriptor | None) -> None:
        if found is None or not isinstance(value, TensorMemory):
            return
        if found.a_major != "K":
            raise OperandError(f"{self.what}: a in tensor memory must be K-major", help="leave trans_a= out")
        columns = found.depth // (2 if found.sparse else 1) * container_bits(kind) // _WORD_BITS
        if value.columns < columns:
            raise OperandError(f"{self.what}: a needs {columns} columns, {value!r} has {value.columns}")

    def _check_tile(self, name: str, tile: SharedTile, kind: str, found: InstructionDescriptor | None) -> None:
        """Reject a tile whose element size or major differs from the MMA's, or that is smaller than the matrix."""
        if tile.dtype.bits != container_bits(kind):
            raise OperandError(
                f"{self.what}: elements of kind::{kind} have {container_bits(kind)} bits in memory, but "
                f"{tile!r} has {tile.dtype.bits}",
                help=f"use a type of {container_bits(kind)} bits for the tile\n{tile.picture()}",
            )
        try:
            check_swizzle(kind, tile.major, shared_descriptor(tile).swizzle)
        except MmaError as error:
            refused(f"{self.what}: {name}", error)
        if found is None:
            return
        major = found.a_major if name == "a" else found.b_major
        if major != tile.major:
            raise OperandError(
                f"{self.what}: {name} is {major}-major, but {tile!r} is not",
                help=f"pass {name}_major={tile.major!r}, or leave trans_{name} out\n{tile.picture()}",
            )
        extent = (found.m if name == "a" else found.n) // self.cta_group
        depth = found.depth // (2 if name == "a" and found.sparse else 1)
        if tile.mn < extent or tile.k < depth:
            raise OperandError(
                f"{self.what}: {name} reads {extent} x {depth}, but {tile!r} has {tile.mn} x {tile.k}",
                help=f"use a tile with {'M' if name == 'a' else 'N'} = {extent} per CTA and at least K = "
                f"{depth}\n{tile.picture()}",
            )

    def check_scales(
        self, found: InstructionDescriptor | None, size: str | None, places: tuple[object, object]
    ) -> None:
        """Reject scale factors that contradict the instruction descriptor or exceed their columns in tensor memory."""
        if found is None:
            return
        try:
            check_scales(found, size)
        except MmaError as error:
            refused(self.what, error)
        for operand, place in zip(_OPERANDS, places, strict=True):
            columns = self._columns_of_scales(operand, found, size)
            if isinstance(place, TensorMemory) and place.columns < columns:
                raise OperandError(
                    f"{self.what}: scale_{operand} needs {columns} columns, {place!r} has {place.columns}",
                    help="use one column per 4 scale factors of 32 rows",
                )

    def _columns_of_scales(self, operand: Operand, found: InstructionDescriptor, size: str | None) -> int:
        """Return the number of columns of an operand's scale factors; raise OperandError for an invalid ID."""
        identifier = found.scale_a_id if operand == "a" else found.scale_b_id
        m, n, k = found.shape
        try:
            held = scale_factors(
                operand, found.kind, size or "", m=m, n=n, k=k, group=self.cta_group, identifier=identifier
            )
        except ValueError as error:
            raise OperandError(
                f"{self.what}: scale_{operand}: {error}", help=f"set scale_{operand}_id in idesc"
            ) from None
        return held.columns[-1] + 1
