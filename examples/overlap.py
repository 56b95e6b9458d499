"""Programmatic dependent launch: a kernel starts before its prerequisite grid has completed.

The device may launch such a kernel (`programmatic_stream_serialization`) once each CTA of the prerequisite grid has
executed `launch_dependents` or exited. Its work before the wait is free: it initializes mbarriers and prefetches tensor
maps while that grid still stores its last results. All its accesses to global memory must follow the wait. PTX manual,
"griddepcontrol"; CUDA programming guide, "Programmatic Dependent Launch".
"""

from __future__ import annotations

from pyptx import ptx

ATTRIBUTES = {"programmatic_stream_serialization": True}
"""Launch attributes (`launch=` of `kernel`) for kernels that call `take_over`."""


def take_over() -> None:
    """Allow the dependent grid to launch, then wait until the prerequisite grids are complete and their writes visible.

    Two instructions, executed by all threads. The dependent grid may start this early because it waits for this grid,
    which has waited for its own prerequisites. Its CTAs are scheduled as CTAs of this grid exit.
    """
    ptx.griddepcontrol.launch_dependents()
    ptx.griddepcontrol.wait()
