"""What programs ask about launching from jax. Calls need none of it: with pyptx-jax, a kernel takes arrays."""

from pyptx_dsl.differentiable import differentiable_kernel
from pyptx_dsl.frameworks import shim_is_available, shim_load_error

__all__ = ["differentiable_kernel", "shim_is_available", "shim_load_error"]
