"""Differentiable kernels, and checks for torch tensors. A kernel call on torch tensors needs neither."""

from pyptx_dsl.frameworks import any_torch_tensors, extract_input_shapes, is_torch_tensor
from pyptx_dsl.kernels.differentiable import differentiable_kernel

__all__ = ["any_torch_tensors", "differentiable_kernel", "extract_input_shapes", "is_torch_tensor"]
