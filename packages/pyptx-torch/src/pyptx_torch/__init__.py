"""Run pyptx kernels on torch tensors: eager, torch.compile, CUDA graphs, autograd, vmap, export.

Calling a kernel with tensors requires no import of this package; `register` is for saved programs, which call a
kernel's operator by name.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_torch.operators import register
else:
    __getattr__, __dir__ = late_names(__name__, {"register": "operators"})

__tracebackhide__ = True

__all__ = ["register"]
