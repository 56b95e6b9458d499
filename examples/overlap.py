"""Launches that overlap: a kernel begins before the one in front of it in the stream has ended.

The device may launch such a kernel (`programmatic_stream_serialization`) as soon as each block of the launch in front
has said so, or has ended. What its threads do before they wait costs nothing: barriers are initialised and tensor maps
fetched while the other launch still stores its last results. All that they read or write in global memory has to come
behind the wait. PTX manual, "griddepcontrol"; CUDA programming guide, "Programmatic Dependent Launch".
"""

from __future__ import annotations

from pyptx import ptx

ATTRIBUTES = {"programmatic_stream_serialization": True}
"""What a kernel that calls `take_over` asks of the driver, as its `launch`."""


def take_over() -> None:
    """Let the next launch begin, and wait until those in front have ended and all that they wrote can be read.

    Two instructions, for all threads. The next launch may begin this early because it waits itself: for this one to
    end, which has waited for those in front. Its blocks find room when blocks of this launch leave.
    """
    ptx.griddepcontrol.launch_dependents()
    ptx.griddepcontrol.wait()
