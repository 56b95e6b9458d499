"""One launch of an entry, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_sim.limits import Count
    from pyptx_sim.memory import Memory
    from pyptx_sim.textures import Opaque
    from pyptx_sim.values import Argument


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """How an entry is launched, and with what: all that a driver is told of it.

    `grid` counts blocks, `block` threads and `cluster` blocks, by one to three sizes, x first; without a `block`, that
    of the entry's `.reqntid` is taken, without a `cluster` that of its `.reqnctapercluster`. A grid may have no CTAs
    only if an array in `args` is empty; then nothing runs. `entry` is the entry's name; without one, the module has a
    single one. `shared_bytes` is the dynamic shared memory of a block.

    `args` stand for the entry's parameters in order: NumPy arrays and CPU tensors for pointers (changed in place),
    numbers for scalars. Views of one buffer that overlap or interleave share memory, as on a GPU; elements are at the
    strides of their array. For a structure, a tuple or a dict of its members, which is
    laid out as in C (arrays for pointers, NumPy scalars, bytes, structures again); or one of ctypes or NumPy, or its
    bytes. An array wrapped in `Uninitialised` holds nothing to be read before it is written, one in `Mapped` is passed
    by a descriptor. A `DeviceArray` has its address already; the kernel sees all arrays of its `memory`, which is named
    where addresses alone are passed.

    A `Texture`, `Surface` or `Sampler` is passed by its 64-bit handle; `textures` binds those that are variables of the
    module (`.texref`, `.samplerref`, `.surfref`), by their names.

    `cooperative`: all blocks are to be resident at once, so that they may wait for each other
    (`cudaLaunchCooperativeKernel`). `dependent`: blocks may start before the launch in front of it in the stream has
    ended, once all blocks of that have executed `griddepcontrol.launch_dependents` or ended; they see its memory only
    behind `griddepcontrol.wait` (programmatic dependent launch). Manual: "griddepcontrol".

    `resident_blocks` is for how many blocks the device has room at once, in whole clusters; the others begin when these
    have ended, or, by cluster launch control, these take over their work. If it is not given, as many run together as
    are simulated fastest; of a grid whose launches can be cancelled, few, so that there is something to take over.
    Blocks that wait for others without room are a deadlock if none has ended, and otherwise run together with them.

    `names` are the user's names of the arguments, and `shared` those of what lies in dynamic shared memory; both are
    for messages only.
    """

    grid: Count
    block: Count | None = None
    entry: str | None = None
    cluster: Count = (1, 1, 1)
    shared_bytes: int = 0
    args: Sequence[Argument] = ()
    memory: Memory | None = None
    textures: Mapping[str, Opaque] = field(default_factory=dict[str, "Opaque"])
    cooperative: bool = False
    dependent: bool = False
    resident_blocks: int | None = None
    names: Sequence[str] = ()
    shared: Sequence[SharedVariable] = ()


class LaunchFields(TypedDict, total=False):
    """The fields of a `Launch`, as keywords."""

    grid: Count
    block: Count | None
    entry: str | None
    cluster: Count
    shared_bytes: int
    args: Sequence[Argument]
    memory: Memory | None
    textures: Mapping[str, Opaque]
    cooperative: bool
    dependent: bool
    resident_blocks: int | None
    names: Sequence[str]
    shared: Sequence[SharedVariable]
