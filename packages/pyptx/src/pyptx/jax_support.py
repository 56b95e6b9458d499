"""Queries about pyptx-jax. Kernel calls do not need them: with pyptx-jax installed, a kernel takes jax arrays."""

from pyptx_dsl.frameworks import shim_is_available, shim_load_error
from pyptx_dsl.kernels.differentiable import differentiable_kernel

__all__ = ["differentiable_kernel", "shim_is_available", "shim_load_error"]
