"""The eager fast path: a callable that launches what it has seen before, and asks for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_launch import _shim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_launch._shim import Plan


@dataclass(frozen=True, slots=True)
class Signature:
    """What a tensor must look like for a plan.

    `strides` count elements, None for a contiguous tensor; the stride of an extent of one does not matter. `dtype` is
    the PTX name; `device` is DLPack's pair of type (2 is CUDA, 1 the CPU) and ordinal; the address must be a multiple
    of `alignment` bytes.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    dtype: str = "f32"
    device: tuple[int, int] = (2, 0)
    alignment: int = 1


if TYPE_CHECKING:

    class Launcher:
        """Launch plans for tensors that look like those that the plans were added for; leave all else to `miss`.

        A call takes tensors, `out=` and the keywords in `scalars`. It is a hit if every tensor's type is one of `types`
        (itself, no subclass), every guard answers false, no tensor needs a gradient while `grad_mode()` is true, and
        dtype, shape, strides, device and alignment are those of a plan. Then the outputs are allocated by the
        framework (or are `out`), the kernel is launched on the framework's current stream, and the output is returned:
        a tuple of several, None for none. In any other case the whole call is `miss(*tensors, **keywords)`.

        Each of `types` must offer DLPack's C exchange API (`__dlpack_c_exchange_api__`), or TypeError is raised.
        Scalars are passed by value; one that is left out, or does not fit, is a miss. Errors of the framework (no
        memory for an output) and of the driver are raised. Launchers may be called and added to from any thread.
        """

        def __init__(
            self,
            miss: Callable[..., object],
            *,
            types: Sequence[type],
            guards: Sequence[Callable[[], object]] = (),
            grad_mode: Callable[[], object] | None = None,
            scalars: Sequence[str] = (),
        ) -> None: ...

        def __call__(self, *tensors: object, **keywords: object) -> object:
            """Launch, or answer what `miss` answers."""
            ...

        def add(self, plan: Plan, inputs: Sequence[Signature], outputs: Sequence[Signature]) -> None:
            """Launch `plan` from now on for such inputs; the first plan for a signature stays.

            Raises LaunchError if there are no inputs, if the plan needs more tensors, or if one of its scalars has
            neither a value nor a keyword.
            """
            ...

        @property
        def specializations(self) -> int:
            """How many plans were added."""
            ...

else:
    Launcher = _shim.Launcher
