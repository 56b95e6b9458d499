"""`ptx.tensormap`: tensor maps that a kernel edits (sm_90a). Manual: "tensormap.replace", "tensormap.cp_fenceproxy"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.orders import SCOPES
from pyptx_arch_hopper.table.tensor_map import CONSTANTS, DIMENSIONS, WORDS
from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.spelling import choice
from pyptx_dsl.registers.operands import as_integer
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["TensorMaps", "tensormap"]

_BYTES = 128
# The type of each field's value; those of the second table have one for each dimension.
_ORDINAL = {name: kind for names, kind in DIMENSIONS for name in names}
_FIELDS = {
    **{name: kind for names, kind in WORDS for name in names},
    **_ORDINAL,
    **{name: "b32" for name, *_ in CONSTANTS},
}
_SPACES = ("global", "shared::cta", "generic")


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
        space: str = "global",
        pred: Reg | None = None,
    ) -> None:
        """Emit `tensormap.replace.tile.field{.space}.b1024.type [addr], {ordinal,} value;`.

        `field` is `global_address` (64 bits), `rank` (one less than the rank), with `ordinal`, the dimension from the
        innermost one on, `box_dim`, `global_dim`, `element_stride` and `global_stride` (64 bits, in bytes; 0 is that of
        the second dimension), or with a constant of the manual's table `elemtype`, `interleave_layout`,
        `swizzle_mode`, `swizzle_atomicity` and `fill_mode`.
        """
        kind = _FIELDS[choice("field", field, tuple(_FIELDS))]
        if (ordinal is not None) != (field in _ORDINAL):
            raise OperandError(
                f"ptx.tensormap.replace: {field} has {'an' if field in _ORDINAL else 'no'} ordinal",
                hint=f"those with one are {', '.join(_ORDINAL)}",
            )
        where = choice("space", space, _SPACES)
        words = ("tensormap", "replace", "tile", field, *((where,) if where != "generic" else ()), "b1024", kind)
        numbers = () if ordinal is None else (as_integer(ordinal),)
        active("ptx.tensormap.replace").emit(words, (as_address(addr), *numbers, value), pred)

    def cp_fenceproxy(self, dst: object, src: object, scope: str = "gpu", *, pred: Reg | None = None) -> None:
        """Emit `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned`.

        The whole warp copies the 128 bytes of the map at `src` in shared memory to `dst` in global memory, and releases
        them to the proxy of tensor maps.
        """
        words = ("tensormap", "cp_fenceproxy", "global", "shared::cta", "tensormap::generic", "release")
        operands = (as_address(dst), as_address(src), _BYTES)
        active("ptx.tensormap.cp_fenceproxy").emit(
            (*words, choice("scope", scope, SCOPES), "sync", "aligned"), operands, pred
        )


tensormap = TensorMaps()
