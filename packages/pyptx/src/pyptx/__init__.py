"""Write, read, check and run PTX, the assembly language of NVIDIA GPUs, from Python.

    from pyptx import Tile, kernel, ptx, reg, smem
    from pyptx.types import f32, u32

A function decorated with `kernel` *is* the instruction stream: each `ptx` call emits one instruction.
"""

from typing import TYPE_CHECKING

from pyptx import reg, smem, specs, types
from pyptx.kernel import Kernel, TensorSpec, TmaDescriptorHandle, detect_arch, differentiable_kernel, intrinsic, kernel
from pyptx.specs import Layout, Scalar, Tile
from pyptx_dsl import ptx
from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx import bundles, emitter, parser
    from pyptx.bundles import load
    from pyptx.modules import compress, decompress, module, text_body
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "bundles": "bundles",
            "compress": "modules",
            "decompress": "modules",
            "emitter": "emitter",
            "text_body": "modules",
            "load": "bundles",
            "module": "modules",
            "parser": "parser",
        },
    )

__tracebackhide__ = True
__version__ = "0.2.0"

__all__ = [
    "Kernel",
    "Layout",
    "Scalar",
    "TensorSpec",
    "Tile",
    "TmaDescriptorHandle",
    "__version__",
    "bundles",
    "compress",
    "decompress",
    "detect_arch",
    "differentiable_kernel",
    "emitter",
    "intrinsic",
    "kernel",
    "load",
    "module",
    "parser",
    "ptx",
    "reg",
    "smem",
    "specs",
    "text_body",
    "types",
]
