"""`differentiable_kernel`: a forward kernel and its backward kernel as one differentiable function.

If the gradients need several kernels, the backward is a Python function that calls them on arrays.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Generic, overload

from pyptx_dsl.errors import point_at_call
from pyptx_dsl.kernels import runtimes
from pyptx_dsl.kernels.results import OutSpecs_co
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_dsl.kernels.results import Array, Kind, NoOutput, OneOutput, SeveralOutputs, Specs
    from pyptx_ir.plugins.rows import Runtime

    Backward: TypeAlias = Kernel[Specs] | Callable[..., object]


class DifferentiableKernel(Generic[OutSpecs_co]):
    """A forward kernel and its backward kernel or function; called like the forward kernel."""

    def __init__(
        self, forward_kernel: Kernel[OutSpecs_co], backward_kernel: Backward, keywords: Mapping[str, object]
    ) -> None:
        """Store the forward and the backward kernel; both are traced at the first call."""
        self.forward_kernel = forward_kernel
        self.backward_kernel = backward_kernel
        self._keywords = dict(keywords)
        self._functions: dict[str, Callable[..., object]] = {}
        self._compiled: Callable[..., object]  # function that torch.compile traces for a call; set on demand

    def __repr__(self) -> str:
        """Return a text with the names of the forward and the backward kernel."""
        return f"differentiable_kernel({self.forward_kernel.name}, {name_of(self.backward_kernel)})"

    @overload
    def __call__(self: DifferentiableKernel[NoOutput], /, *arrays: Array[object], **keywords: object) -> None: ...
    @overload
    def __call__(
        self: DifferentiableKernel[OneOutput], first: Array[Kind], /, *arrays: Array[Kind], **keywords: object
    ) -> Kind: ...
    @overload
    def __call__(
        self: DifferentiableKernel[SeveralOutputs], first: Array[Kind], /, *arrays: Array[Kind], **keywords: object
    ) -> tuple[Kind, ...]: ...
    @overload
    def __call__(
        self, first: Array[Kind], /, *arrays: Array[Kind], **keywords: object
    ) -> Kind | tuple[Kind, ...] | None: ...

    def __call__(self, /, *arrays: object, **keywords: object) -> object:
        """Run the forward kernel; the framework runs the backward kernel for gradients.

        Raises RuntimeMissingError if no installed runtime differentiates kernels on these arrays.
        """
        torch = sys.modules.get("torch")
        if torch is not None and torch.compiler.is_compiling():
            self._ready_to_compile()
            return self._compiled(*arrays, **keywords)
        try:
            return self._function(runtimes.differentiable_runtime(repr(self), self.forward_kernel, arrays))(
                *arrays, **keywords
            )
        except PyptxError as error:
            point_at_call(error)
            raise

    def _function(self, runtime: Runtime) -> Callable[..., object]:
        """Return the runtime's differentiable function for this pair of kernels, created at the first call."""
        known = self._functions.get(runtime.name)
        if known is None and runtime.differentiable is not None:
            made = runtime.differentiable(self.forward_kernel, self.backward_kernel, **self._keywords)
            known = self._functions.setdefault(runtime.name, made)
        assert known is not None  # noqa: S101  only runtimes that differentiate are chosen
        return known

    @runtimes.called_while_compiling
    def _ready_to_compile(self) -> bool:
        """Store in `_compiled` the function that torch.compile traces for a call; called while torch.compile traces."""
        if not hasattr(self, "_compiled"):
            self._compiled = self._function(runtimes.compilable_runtime(repr(self)))
        return True


def name_of(backward: Backward) -> str:
    """Return the name of a backward kernel or function, for error messages."""
    return str(getattr(backward, "__name__", backward))


def differentiable_kernel(
    forward_kernel: Kernel[OutSpecs_co], backward_kernel: Backward, **kwargs: object
) -> DifferentiableKernel[OutSpecs_co]:
    """Join a forward and a backward kernel into one differentiable function.

    The backward kernel takes the saved arrays, then the gradients of the outputs, and returns a gradient per input. It
    may be a function that calls several kernels; it receives the keywords of a call that are its keyword-only
    parameters. Keywords here are for the runtime of the arrays: `save_for_backward=[0, 1]` names the inputs to save
    (all of them by default), `num_grad_inputs=2` is the number of inputs with gradients.
    """
    return DifferentiableKernel(forward_kernel, backward_kernel, kwargs)
