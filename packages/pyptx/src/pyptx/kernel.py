"""The `kernel` decorator and the object that it makes of a function."""

from pyptx_dsl.arch import detect_arch
from pyptx_dsl.decorator import kernel
from pyptx_dsl.differentiable import DifferentiableKernel, differentiable_kernel
from pyptx_dsl.intrinsic import intrinsic
from pyptx_dsl.kernel import Kernel
from pyptx_dsl.tensors import TensorSpec, TmaDescriptorHandle

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
