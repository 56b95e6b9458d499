"""`Launch`: configuration and arguments of one launch of an entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_sim.device_memory import DeviceMemory
    from pyptx_sim.limits import Count
    from pyptx_sim.memory import Memory
    from pyptx_sim.textures import Opaque
    from pyptx_sim.values import Argument


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launch:
    """Launch of an entry: configuration and arguments.

    `grid` counts CTAs, `block` threads and `cluster` CTAs, each with one to three sizes, x first. `block` defaults to
    the entry's `.reqntid`, `cluster` to its `.reqnctapercluster`. A grid may have no CTAs only if an array in `args` is
    empty; then nothing runs. `entry` is the entry's name; it may be omitted if the module has only one. `shared_bytes`
    is the dynamic shared memory per CTA.

    `args` are the values of the entry's parameters in order:

    - for a pointer, a NumPy array or a CPU tensor, which is modified in place. Views of one buffer that overlap or
      interleave share memory, as on a GPU; elements are at the strides of their array.
    - for a scalar, a number.
    - for a structure, a tuple or a dict of its members, laid out as in C: arrays for pointers, NumPy scalars, bytes,
      nested structures; also a ctypes or NumPy structure, or the structure's bytes.

    An array wrapped in `Uninitialized` has no defined contents; one in `WithDescriptor` is passed by a descriptor. A
    `DeviceArray` has an address already; the kernel can access all arrays of its `memory`. Pass `memory` if only
    addresses are passed, or for the device memory of a `Context`.

    A `Texture`, `Surface` or `Sampler` is passed by its 64-bit handle. `textures` binds the module's texture, sampler
    and surface variables (`.texref`, `.samplerref`, `.surfref`) by name.

    `cooperative`: all CTAs must be resident at once, so that they may wait for each other
    (`cudaLaunchCooperativeKernel`). `programmatic_dependent`: programmatic dependent launch. CTAs may start before
    the prerequisite grid completes, once all CTAs of that grid have executed `griddepcontrol.launch_dependents` or
    exited. Writes of that grid are visible only after `griddepcontrol.wait`. Manual: "griddepcontrol".

    `resident_blocks` is the number of CTAs that the device can hold at once, in whole clusters. Other CTAs start when
    resident CTAs have exited, or resident CTAs take over their work by cluster launch control. By default, the
    simulator holds the number that it runs fastest; fewer if cluster launches can be canceled, so that some remain.
    If CTAs wait for CTAs that do not fit, that is a deadlock if no CTA has exited; otherwise they run together.

    `names` are the user's names of the arguments, and `shared` the user's variables in dynamic shared memory; both are
    for messages only.
    """

    grid: Count
    block: Count | None = None
    entry: str | None = None
    cluster: Count = (1, 1, 1)
    shared_bytes: int = 0
    args: Sequence[Argument] = ()
    memory: Memory | DeviceMemory | None = None
    textures: Mapping[str, Opaque] = field(default_factory=dict[str, "Opaque"])
    cooperative: bool = False
    programmatic_dependent: bool = False
    resident_blocks: int | None = None
    names: Sequence[str] = ()
    shared: Sequence[SharedVariable] = ()


class LaunchFields(TypedDict, total=False):
    """Keyword arguments of `pyptx_sim.run` that are fields of a `Launch`."""

    grid: Count
    block: Count | None
    entry: str | None
    cluster: Count
    shared_bytes: int
    args: Sequence[Argument]
    memory: Memory | DeviceMemory | None
    textures: Mapping[str, Opaque]
    cooperative: bool
    programmatic_dependent: bool
    resident_blocks: int | None
    names: Sequence[str]
    shared: Sequence[SharedVariable]
