"""Programmatic dependent launch on the simulator: a kernel that overlaps its prerequisite grid.

The prerequisite grid executes `griddepcontrol.launch_dependents` first. Then it writes the kernel's inputs and reads
the previous contents of the kernel's outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx_ir.plugins.rows import Argument
from pyptx_sim import Launch, WithDescriptor, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import EntryParameter, Specialization
    from pyptx_sim import Result

    Array = np.ndarray[Any, Any]

WAIT = "griddepcontrol.wait;"
_SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
_THREADS = 128
_DTYPES = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float32": "f32", "int32": "s32"}
_FRONT = """
.version 8.5
.target sm_90a
.address_size 64
.visible .entry front(PARAMETERS)
{
    .reg .pred %p;
    .reg .b16 %h;
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    griddepcontrol.launch_dependents;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r0, %r0, 128, %r1;
    cvt.u64.u32 %rd0, %r0;
BODY
    ret;
}
"""
# Part of the prerequisite grid for one pair of arrays: a thread copies a byte into a kernel input or out of an output.
_BYTE = """
    setp.ge.u64 %p, %rd0, SIZE;
    @%p bra $past_NUMBER;
    ld.param.u64 %rd1, [from_NUMBER];
    ld.param.u64 %rd2, [to_NUMBER];
    add.u64 %rd1, %rd1, %rd0;
    add.u64 %rd2, %rd2, %rd0;
    ld.global.u8 %h, [%rd1];
    st.global.u8 [%rd2], %h;
$past_NUMBER:
"""


def specialized(kernel: Any, inputs: Sequence[Array], **keywords: object) -> Specialization:
    """Return the specialization of a kernel for these inputs."""
    rows = [
        Argument(each.shape, _DTYPES[each.dtype.name], tuple(stride // each.itemsize for stride in each.strides))
        for each in inputs
    ]
    special: Specialization = kernel.specialize(rows, keywords)
    return special


def overlapped(
    special: Specialization, inputs: Sequence[Array], outputs: Sequence[Array], *, waits: bool = True, **options: Any
) -> Result:
    """Run a kernel as a dependent grid with all checks; its prerequisite grid writes its inputs and reads its outputs.

    If `waits` is False, `griddepcontrol.wait` is removed from the kernel's text.
    """
    late, taken = [np.zeros_like(each) for each in inputs], [np.zeros_like(each) for each in outputs]
    pairs = [*zip(inputs, late, strict=True), *zip(outputs, taken, strict=True)]
    assert WAIT in special.text
    text = special.text if waits else special.text.replace(WAIT, "")
    blocks = -(-max(source.nbytes for source, _ in pairs) // _THREADS)
    front = Launch(entry="front", grid=blocks, block=_THREADS, args=[_bytes(each) for pair in pairs for each in pair])
    arrays = [*late, *outputs]
    behind = Launch(
        entry=special.entry,
        grid=special.grid_on(132),
        block=special.block,
        cluster=special.cluster,
        shared_bytes=special.shared_bytes,
        args=[_value(row, arrays) for row in special.parameters],
        programmatic_dependent=_SERIALIZATION in dict(special.attributes),
    )
    return run([_front(pairs), text], [front, behind], checks="all", **options)


def _front(pairs: Sequence[tuple[Array, Array]]) -> str:
    parameters = ", ".join(f".param .u64 from_{i}, .param .u64 to_{i}" for i in range(len(pairs)))
    body = "".join(
        _BYTE.replace("NUMBER", str(i)).replace("SIZE", str(source.nbytes)) for i, (source, _) in enumerate(pairs)
    )
    return _FRONT.replace("PARAMETERS", parameters).replace("BODY", body)


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def _value(row: EntryParameter, arrays: Sequence[Array]) -> Any:
    if row.kind == "scalar":
        return row.value
    assert row.index is not None
    array = arrays[row.index]
    if row.kind == "tensor":
        return _bytes(array)
    return WithDescriptor(_bytes(array), row.descriptor)
