"""A virtual NVIDIA GPU: CUDA programs in Python run on the simulator, in a process without a GPU.

`activate` makes the process's one virtual device, and connects the frameworks that are asked for to it. Importing this
package activates nothing, and imports no framework.
"""

from pyptx_virtual.activation import activate, active
from pyptx_virtual.device import VirtualDevice

__tracebackhide__ = True

__all__ = ["VirtualDevice", "activate", "active"]
