"""Protection of this package's functions from `torch.compile`.

torch calls them where a build with CUDA calls C functions. TorchDynamo compiles every Python function that a program
calls while it traces or runs compiled code, and would compile these, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy

if TYPE_CHECKING:
    from collections.abc import Callable

AnyFunction = TypeVar("AnyFunction", bound="Callable[..., object]")

_SKIP: Final = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)


def untraced(function: AnyFunction) -> AnyFunction:
    """Return the function, which TorchDynamo now skips together with the functions that it calls."""
    plain = getattr(function, "func", function)  # of a functools.partial
    plain = getattr(plain, "__func__", plain)  # of a bound method
    code = getattr(plain, "__code__", None)
    if code is not None:  # a function in Python
        set_code_exec_strategy(code, _SKIP)
    return function
