"""Custom call `pyptx_launch`, through which XLA launches kernels: registration, and the launches that records describe.

A custom call carries a record, whose format only the resolver defines. XLA calls the resolver once per record in a
compiled program, with the name of the platform (`"cpu"` or `"CUDA"`). XLA keeps the returned launch as long as the
program lives.
"""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_launch import _shim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_launch.plans import Plan

if not hasattr(_shim, "XlaLaunch"):
    raise ImportError(
        "pyptx-launch was built without the XLA handlers, which launch kernels from jax\n"
        "help: rebuild it without PYPTX_XLA=0, on a Python for which jaxlib 0.10.0 has a wheel (3.11 to 3.14)"
    )

NAME: Final = "pyptx_launch"
"""Name of the custom call in XLA programs."""

STATE: Final = "pyptx_launch_state"
"""XLA name of the type of a custom call's state: the `Launch` that a compiled program keeps."""


@dataclass(frozen=True, slots=True)
class Target:
    """Custom-call registration for one platform: `type` registers the state type, `stages` maps stages to handlers."""

    platform: str
    type: Mapping[str, object]
    stages: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Item:
    """One tensor of a launch: its rank and its size in bytes.

    An XLA buffer with more dimensions is a batch of tensors, with one launch for each. If its leading dimension is 1,
    all launches share its single tensor.
    """

    rank: int
    bytes: int


class Launch(_shim.XlaLaunch):
    """Launch that the resolver returns for a record: how a custom call runs, and the order of its tensors.

    The call's operands are the inputs. Its results are the outputs, then the new values of the inputs in `mutated`; XLA
    stores each new value in the memory of its input.
    """

    __slots__ = ()

    def __init__(
        self,
        items: Sequence[Item],
        inputs: int,
        mutated: Sequence[int] = (),
        *,
        plan: Plan | None,
        run: Run | None,
    ) -> None:
        """Launch `plan` on a GPU, or call `run` on a CPU with the memory of inputs and outputs.

        `items` are the inputs, then the outputs. `run` may write to outputs and to mutated inputs, and must not keep
        references to the memory. If `run` raises, XLA's error has the exception's text.
        """
        super().__init__(plan, run, [(item.rank, item.bytes) for item in items], inputs, mutated)


if TYPE_CHECKING:
    Run = Callable[[list[memoryview]], None]
    Resolver = Callable[[str, bytes], Launch]


def targets() -> tuple[Target, ...]:
    """Return the registrations by platform. XLA requires a type to be registered before handlers."""
    return tuple(Target(*row) for row in _shim.xla_targets())


def resolve_with(resolver: Resolver) -> None:
    """Make `resolver` the function that returns the `Launch` for the record of a custom call.

    At interpreter exit, wait for running calls to leave Python; later calls from XLA fail.
    """
    _shim.set_xla_resolver(resolver)
    atexit.unregister(_shim.close_xla)
    atexit.register(_shim.close_xla)
