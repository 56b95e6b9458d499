"""What programs ask about launching from jax. Calls need none of it: with pyptx-jax, a kernel takes arrays."""

from pyptx_dsl.frameworks import shim_is_available, shim_load_error
from pyptx_dsl.kernels.differentiable import differentiable_kernel

__all__ = ["differentiable_kernel", "shim_is_available", "shim_load_error"]
