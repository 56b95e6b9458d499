"""Private interfaces of torch: all uses are in this module, each with its purpose.

`tests/test_internals.py` fails, by name, for a release of torch that lacks one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import torch
from torch._functorch.autograd_function import custom_function_call_vmap_helper
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch._functorch.utils import enable_single_level_autograd_function
from torch._ops import OpOverload, OpOverloadPacket, _OpNamespace
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, guard_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from contextlib import AbstractContextManager

    Keys = torch._C.DispatchKeySet
    Overload = OpOverload[..., object]
    Packet = OpOverloadPacket[..., object]

# ruff: noqa: SLF001 - the module is about private names


class Library(Protocol):
    """Typed interface of torch's operator library."""

    def define(self, schema: str, *, tags: Sequence[torch.Tag] = ()) -> None:
        """Define an operator, or an overload of one."""
        ...

    def impl(self, name: str, function: Callable[..., object], key: str, *, with_keyset: bool = False) -> None:
        """Register the function that the dispatcher calls for a key."""
        ...

    def _register_fake(self, name: str, function: Callable[..., object]) -> None: ...

    def _destroy(self) -> None: ...


def new_library(namespace: str) -> Library:
    """Return a library whose operators exist until it is destroyed."""
    return cast("Library", torch.library.Library(namespace, "FRAGMENT"))  # type: ignore[no-untyped-call] # torch has no types


def register_fake(library: Library, name: str, function: Callable[..., object]) -> None:
    """Register the fake implementation, without keeping the operator alive as `torch.library.register_fake` does."""
    library._register_fake(name, function)


def destroy(library: Library) -> None:
    """Remove a library's operators from torch; no graph may refer to them."""
    library._destroy()


class Namespace(_OpNamespace):
    """Namespace of `torch.ops` with weak references to its operators."""

    # Generated code names operators by this module.
    __module__ = _OpNamespace.__module__

    packets: MutableMapping[str, Packet]

    def __getattr__(self, op_name: str) -> Packet:
        """Return the packet of an operator (always the same); AttributeError if there is none."""
        known = self.packets.get(op_name)
        if known is not None:
            return known
        try:
            found = super().__getattr__(op_name)
        except AttributeError:
            raise AttributeError(
                f"unknown operator torch.ops.pyptx.{op_name}: no kernel is registered under this "
                f"name\nhelp: call pyptx_torch.register(kernel, name={op_name!r}) with the kernel that the "
                "program was saved with"
            ) from None
        vars(self).pop(op_name, None)
        self._dir = [name for name in self._dir if name != op_name]
        return self.packets.setdefault(op_name, found)


def forward_mode() -> bool:
    """Return whether forward-mode derivatives are being computed, which kernels do not support."""
    return bool(cast("Any", forward_ad)._current_level >= 0)


def has_tangent(tensor: torch.Tensor) -> bool:
    """Return whether a tensor carries a forward-mode derivative."""
    return cast("Any", forward_ad).unpack_dual(tensor).tangent is not None


def is_capturing() -> bool:
    """Return whether CUDA's current stream captures a graph.

    torch is queried only after it has initialized CUDA: without a driver, a CUDA build raises.
    """
    initialized = cast("Any", torch.cuda).is_initialized()
    return bool(initialized and torch._C._cuda_isCurrentStreamCapturing())


GUARDS: Final[tuple[Callable[[], object], ...]] = (
    torch._C._len_torch_dispatch_stack,  # fake tensors, make_fx, torch.export, modes of users
    torch._C._len_torch_function_stack,  # set_default_device, modes of users
    torch._C._are_functorch_transforms_active,  # vmap, grad, jvp, functionalize
    torch._C._is_tracing,  # torch.jit.trace
    torch._C._autograd._profiler_enabled,  # a profiler does not record calls that bypass the dispatcher
    forward_mode,
)
"""Functions that must all return false or 0 for a launch that bypasses torch's dispatcher."""

VARIABLES: Final = ((vars(forward_ad), "_current_level"),)
"""Variable that `forward_mode` reads; a launcher compares it without calling Python."""


def is_freed(tensor: torch.Tensor) -> bool:
    """Return whether a tensor's storage is freed. `data_ptr` of a view of freed storage is the view's offset."""
    return not tensor.untyped_storage().nbytes()


def lacks_memory(tensor: torch.Tensor) -> bool:
    """Return whether a tensor has elements and no memory for them."""
    return bool(tensor.numel()) and (is_freed(tensor) or tensor._is_zerotensor() or not tensor.data_ptr())


TENSOR_GUARDS: Final[tuple[Callable[[torch.Tensor], object], ...]] = (
    torch.Tensor.is_neg,
    torch.Tensor._is_zerotensor,
    is_freed,
)
"""Tensor properties that DLPack lacks, and that exclude a tensor from a launch that bypasses torch's dispatcher.

A pending negation, a zero tensor of autograd (without memory), freed storage.
"""


def is_recording() -> bool:
    """Return whether torch.export, make_fx or torch.jit.trace records calls in a program that may be saved."""
    return torch.compiler.is_exporting() or torch._C._is_tracing() or get_proxy_mode() is not None


def count_versions(tensors: Sequence[torch.Tensor]) -> None:
    """Increment the version of tensors, by which autograd detects writes to saved tensors.

    Tensors created in inference mode have no version.
    """
    if torch.is_inference_mode_enabled():
        tensors = [tensor for tensor in tensors if not tensor.is_inference()]
    torch._C._increment_version(tensors)


def has_unknown_size(tensor: torch.Tensor) -> bool:
    """Return whether a size is a symbol without a value until the graph runs."""
    sizes: tuple[object, ...] = tuple(tensor.shape)
    return any(isinstance(size, torch.SymInt) and bool(free_unbacked_symbols(size)) for size in sizes)


def as_constant(value: object) -> object:
    """Return a value with every symbol replaced by its number, on which the graph is guarded."""
    if type(value) in {int, float, torch.SymInt, torch.SymFloat}:
        return guard_scalar(cast("float", value))
    if type(value) is tuple:
        return tuple([as_constant(item) for item in cast("tuple[object, ...]", value)])
    if type(value) is list:
        return [as_constant(item) for item in cast("list[object]", value)]
    return value


def check_later(holds: object, otherwise: str) -> None:
    """Emit a check that the graph performs when it runs; `torch._check` is documented, but has no types."""
    cast("Any", torch)._check(holds, lambda: otherwise)


def below_autograd(
    overload: Overload, keys: Keys, arguments: Sequence[object], keywords: Mapping[str, object]
) -> object:
    """Continue a call below autograd."""
    with torch._C._AutoDispatchBelowAutograd():
        return overload.redispatch(keys & torch._C._after_autograd_keyset, *arguments, **keywords)


def below_versions(
    overload: Overload, keys: Keys, arguments: Sequence[object], keywords: Mapping[str, object]
) -> object:
    """Continue a call after versions were incremented."""
    return overload.redispatch(keys & torch._C._after_ADInplaceOrView_keyset, *arguments, **keywords)


def is_mutable(overload: Overload) -> bool:
    """Return whether an overload writes to an argument."""
    return bool(overload._schema.is_mutable)


class FunctionOfLevel(_SingleLevelFunction):
    """Autograd function for use inside torch's dispatcher, which has already chosen the torch.func level.

    `apply` of a `torch.autograd.Function` would choose a level again.
    """

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[object, ...]:  # noqa: ANN401 - as torch has it
        return (ctx._autograd_function_id,)


def apply_at_this_level(function: type[FunctionOfLevel], *arguments: object) -> object:
    """Apply a function at the torch.func level that the dispatcher has chosen."""
    allowed = cast("AbstractContextManager[None]", enable_single_level_autograd_function())
    with allowed:
        return cast("Any", function).apply(*arguments)


def apply(function: type[torch.autograd.Function], *arguments: object) -> object:
    """Apply a function; torch's `apply` has no types."""
    return cast("Any", function).apply(*arguments)


def batched(
    rule: Callable[..., tuple[object, object]],
    overload: Overload,
    arguments: Sequence[object],
    keywords: Mapping[str, object],
) -> object:
    """Call a vmap rule, without keeping the operator alive as `torch.library.register_vmap` does."""
    interpreter = cast("Any", retrieve_current_functorch_interpreter())
    return custom_function_call_vmap_helper(interpreter, rule, overload, *arguments, **keywords)
