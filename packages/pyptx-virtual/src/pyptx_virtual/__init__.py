"""A virtual NVIDIA GPU: CUDA programs in Python run on the simulator, in a process without a GPU.

`activate` makes the process's one virtual device, and connects the frameworks that are asked for to it. Importing this
package activates nothing, and imports no framework. Public names are imported at first use: every run of pytest imports
the package's plugin.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_virtual.activation import activate, active
    from pyptx_virtual.device import VirtualDevice
else:
    __getattr__, __dir__ = late_names(
        __name__, {"VirtualDevice": "device", "activate": "activation", "active": "activation"}
    )

__tracebackhide__ = True

__all__ = ["VirtualDevice", "activate", "active"]
