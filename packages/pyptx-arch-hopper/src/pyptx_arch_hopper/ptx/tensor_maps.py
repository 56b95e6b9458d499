"""`ptx.tensormap`: tensor maps that a kernel edits (sm_90a). Manual: "tensormap.replace", "tensormap.cp_fenceproxy"."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.instruction_forms import InstructionForms
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
    """Edits of tensor maps in memory; each call emits one instruction.

    A map is edited in shared memory and then brought to global memory by `cp_fenceproxy`, or edited in global memory in
    front of `ptx.fence.proxy_tensormap_release`. Whoever copies by it acquires it first:
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

        `field` is `global_address` (64 bits), `rank` (one less than the rank), with `ordinal`, the dimension from the
        innermost one on, `box_dim`, `global_dim`, `element_stride` and `global_stride` (64 bits, in bytes; 0 is that of
        the second dimension), or with a constant of the manual's table `elemtype`, `interleave_layout`,
        `swizzle_mode`, `swizzle_atomicity` and `fill_mode`.
        """
        words = _REPLACE.words(field=field, space=space)
        if (ordinal is not None) != (field in _ordinal()):
            raise OperandError(
                f"ptx.tensormap.replace: {field} has {'an' if field in _ordinal() else 'no'} ordinal",
                hint=f"those with one are {', '.join(_ordinal())}",
            )
        numbers = () if ordinal is None else (as_integer(ordinal),)
        active("ptx.tensormap.replace").emit(words, (as_address(addr), *numbers, value), pred)

    def cp_fenceproxy(self, dst: object, src: object, scope: str = "gpu", *, pred: Reg | None = None) -> None:
        """Emit `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned`.

        The whole warp copies the 128 bytes of the map at `src` in shared memory to `dst` in global memory, and releases
        them to the proxy of tensor maps.
        """
        words = _COPY.words(sem="release", scope=scope)
        active("ptx.tensormap.cp_fenceproxy").emit(words, (as_address(dst), as_address(src), _BYTES), pred)


@cache
def _ordinal() -> tuple[str, ...]:
    """Return the fields that there are for each dimension."""
    forms = [form for form in _REPLACE.forms if any(place.name == "ordinal" for place in compile_row(form.row).places)]
    return tuple(dict.fromkeys(field for form in forms for field in form.choices("field")))


tensormap = TensorMaps()
