"""Transpiler rule: instructions that compute a tcgen05 descriptor from an address become `matrix_descriptor(a, …)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.descriptors import DescriptorError, SharedDescriptor
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.printing.matrix_descriptors import DescriptorSums

if TYPE_CHECKING:
    from pyptx_transpile.printing.matrix_descriptors import DescriptorMatch
    from pyptx_transpile.reading.rows import Body

__all__ = ["DESCRIPTOR"]

# Names of Python variables that transpiled kernels may use for matrix descriptors.
_NAMES = tuple(f"matrix_descriptor{tail}" for tail in ("", "_2", "_3"))


def _described(body: Body, found: list[DescriptorMatch]) -> list[DescriptorMatch]:
    """Return the computations whose constant is a tcgen05 descriptor without its address, in a module with tcgen05.

    Compilers compute the halves of a descriptor separately, so the computed halves are not operands of the MMA.
    """
    if not any(any(True for _ in each.places("tcgen05")) for each in body.row.bodies()):
        return []
    return [each for each in found if _is_descriptor(each.taken["const_bits"])]


def _is_descriptor(bits: tree.Operand) -> bool:
    try:
        return isinstance(bits, tree.Immediate) and not SharedDescriptor.decode(int(bits.text)).start
    except (DescriptorError, ValueError):
        return False


DESCRIPTOR = SugarRule(
    name="matrix descriptor",
    summary="the instructions that compute a tcgen05 descriptor from an address",
    before="shr.u32 %r4, %r1, 4;\n\tcvt.u64.u32 %rd1, %r4;\n\tor.b64 %rd2, %rd1, 4611756662049538048;\n\t"
    "tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd2, %rd2, %r3, %p1;",
    after="matrix_descriptor(r[1], temps=[r[4], rd[1], rd[2]])",
    find=DescriptorSums("matrix descriptor", "ptx.tcgen05.masked_descriptor", _NAMES, _described).find,
    behind="repeat",
)
