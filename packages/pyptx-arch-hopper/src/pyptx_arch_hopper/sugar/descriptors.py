"""Transpiler rule: instructions that compute a wgmma descriptor from an address become `descriptor(a, …)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile.printing.matrix_descriptors import DescriptorSums

if TYPE_CHECKING:
    from pyptx_transpile.printing.matrix_descriptors import DescriptorMatch
    from pyptx_transpile.reading.rows import Body

__all__ = ["DESCRIPTOR"]

# Names of Python variables that transpiled kernels may use for matrix descriptors.
_NAMES = ("descriptor", "descriptor_2", "descriptor_3")


def _taken(body: Body, found: list[DescriptorMatch]) -> list[DescriptorMatch]:
    """Return the descriptor computations whose results are operands of a wgmma in the function body."""
    nodes = map(body.branch, body.places("wgmma"))
    used = {each for node in nodes if node.opcode[1] == "mma_async" for each in node.operands}
    return [each for each in found if each.result in used]


DESCRIPTOR = SugarRule(
    name="descriptor",
    summary="the instructions that compute a matrix descriptor from an address",
    before="add.s32 %r4, %r1, 32;\n\tand.b32 %r5, %r4, 262112;\n\tshr.u32 %r6, %r5, 4;\n\tcvt.u64.u32 %rd1, %r6;\n\t"
    "or.b64 %rd2, %rd1, 4611686293305360384;\n\twgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
    "{%f0, %f1, %f2, %f3}, %rd2, %rd2, 1, 1, 1, 0, 0;",
    after="descriptor(r[1], 32, mask=262112, temps=[*r[4:7], rd[1], rd[2]])",
    find=DescriptorSums("descriptor", "ptx.wgmma.masked_descriptor", _NAMES, _taken).find,
    behind="repeat",
)
