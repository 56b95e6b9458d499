"""What programs ask about torch. Calls need none of it: a kernel takes tensors once pyptx-torch is installed."""

from pyptx_dsl.differentiable import differentiable_kernel
from pyptx_dsl.frameworks import any_torch_tensors, extract_input_shapes, is_torch_tensor

__all__ = ["any_torch_tensors", "differentiable_kernel", "extract_input_shapes", "is_torch_tensor"]
