"""`ptx.tensormap`: tensor maps modified by kernels (sm_90a). Manual: "tensormap.replace", "tensormap.cp_fenceproxy"."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active
from pyptx_ir.isa.patterns import compile_row

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["TensorMaps", "tensormap"]

_BYTES = 128
_REPLACE = InstructionForms("ptx.tensormap.replace", "tensormap.replace.tile")
_COPY = InstructionForms("ptx.tensormap.cp_fenceproxy", "tensormap.cp_fenceproxy")


class TensorMaps:
    """Modification of tensor maps in memory; each call emits one instruction.

    Modify a map in shared memory and copy the map to global memory with `cp_fenceproxy`, or modify a map in global
    memory before `ptx.fence.proxy_tensormap_release`. A thread acquires the map before it copies with the map:
    `ptx.fence.proxy_tensormap_acquire(map)`.
    """

    def replace(
        self,
        field: str,
        addr: object,
        value: object,
        *,
        ordinal: int | None = None,
        space: str | None = "global",
        pred: Reg | None = None,
    ) -> None:
        """Emit `tensormap.replace.tile.field{.space}.b1024.type [addr], {ordinal,} value;`.

        - `global_address` (64 bits), `rank` (the rank minus one).
        - With `ordinal`, the dimension counted from the innermost one: `box_dim`, `global_dim`, `element_stride` and
          `global_stride` (64 bits, in bytes; ordinal 0 is the stride of the second dimension).
        - With a constant of the manual's table: `elemtype`, `interleave_layout`, `swizzle_mode`, `swizzle_atomicity`
          and `fill_mode`.
        """
        words = _REPLACE.words(field=field, space=space)
        if (ordinal is not None) != (field in _ordinal()):
            raise OperandError(
                f"ptx.tensormap.replace: {field} has {'an' if field in _ordinal() else 'no'} ordinal",
                help=f"pass an ordinal only for {', '.join(_ordinal())}",
            )
        numbers = () if ordinal is None else (as_integer(ordinal),)
        active("ptx.tensormap.replace").emit(words, (as_address(addr), *numbers, value), pred)

    def cp_fenceproxy(self, dst: object, src: object, scope: str = "gpu", *, pred: Reg | None = None) -> None:
        """Emit `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned`.

        The whole warp copies the 128-byte map at `src` in shared memory to `dst` in global memory, and releases the map
        to the tensormap proxy.
        """
        words = _COPY.words(sem="release", scope=scope)
        active("ptx.tensormap.cp_fenceproxy").emit(words, (as_address(dst), as_address(src), _BYTES), pred)


@cache
def _ordinal() -> tuple[str, ...]:
    """Return the tensor map fields with one value per dimension."""
    forms = [form for form in _REPLACE.forms if any(place.name == "ordinal" for place in compile_row(form.row).places)]
    return tuple(dict.fromkeys(field for form in forms for field in form.choices("field")))


tensormap = TensorMaps()
