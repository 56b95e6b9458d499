"""The `kernel` decorator, and the classes of the kernels that it returns."""

from pyptx_dsl.contract.tensors import TensorSpec, TmaDescriptorHandle
from pyptx_dsl.kernels.arch import detect_arch
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.differentiable import DifferentiableKernel, differentiable_kernel
from pyptx_dsl.kernels.intrinsic import intrinsic
from pyptx_dsl.kernels.kernel import Kernel

__all__ = [
    "DifferentiableKernel",
    "Kernel",
    "TensorSpec",
    "TmaDescriptorHandle",
    "detect_arch",
    "differentiable_kernel",
    "intrinsic",
    "kernel",
]
