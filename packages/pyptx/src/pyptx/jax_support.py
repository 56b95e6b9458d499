"""Differentiable kernels, and checks that pyptx-launch loads. A kernel call on jax arrays needs neither."""

from pyptx_dsl.frameworks import shim_is_available, shim_load_error
from pyptx_dsl.kernels.differentiable import differentiable_kernel

__all__ = ["differentiable_kernel", "shim_is_available", "shim_load_error"]
