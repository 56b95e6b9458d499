"""Run pyptx kernels on jax arrays: jit, vmap, grad, shard_map, export.

Calling a kernel with jax arrays requires no import of this package; `register` is for loading exported programs.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_jax.targets import register
else:
    __getattr__, __dir__ = late_names(__name__, {"register": "targets"})

__tracebackhide__ = True

__all__ = ["register"]
