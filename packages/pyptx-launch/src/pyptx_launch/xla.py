"""The custom call `pyptx_launch`, through which XLA launches kernels: what jax registers, and what a call becomes.

A call carries a record, which is whatever the resolver understands. XLA asks the resolver for the launch of a record
once in each program that it compiles, with the name of the platform (`"cpu"` or `"CUDA"`), and keeps it as long as the
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
        "this pyptx-launch is built without the handlers that launch kernels from jax\n"
        "hint: rebuild it without PYPTX_XLA=0, on a Python for which jaxlib 0.10.0 has a wheel (3.11 to 3.14)"
    )

NAME: Final = "pyptx_launch"
"""The name of the custom call."""

STATE: Final = "pyptx_launch_state"
"""The name of the type of what a program keeps."""


@dataclass(frozen=True, slots=True)
class Target:
    """What XLA is told for one platform: `type` is the registration of the state's type, `stages` are the handlers."""

    platform: str
    type: Mapping[str, object]
    stages: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Item:
    """One tensor of a launch: its rank and its bytes.

    A buffer with more dimensions is a batch of them, one launch for each; a dimension of 1 in front is shared by all.
    """

    rank: int
    bytes: int


class Launch(_shim.XlaLaunch):
    """What a record resolves to: the launches that a call does, and how it finds its tensors.

    The call's operands are the inputs. Its results are the outputs, then the new values of the inputs named in
    `mutated`, each of which XLA puts into its input's memory.
    """

    __slots__ = ()

    def __init__(
        self, items: Sequence[Item], inputs: int, mutated: Sequence[int] = (), *, plan: Plan | None, run: Run | None
    ) -> None:
        """Launch `plan`, on a GPU; or call `run`, on a CPU, with the memory of inputs and outputs.

        `items` are the inputs, then the outputs. `run` may write to outputs and to inputs that are mutated, and must
        not keep what it gets. The text of an exception is the text of XLA's error.
        """
        super().__init__(plan, run, [(item.rank, item.bytes) for item in items], inputs, mutated)


if TYPE_CHECKING:
    Run = Callable[[list[memoryview]], None]
    Resolver = Callable[[str, bytes], Launch]


def targets() -> tuple[Target, ...]:
    """Return what is to be registered, for each platform; its type before its handlers, or XLA refuses them."""
    return tuple(Target(*row) for row in _shim.xla_targets())


def resolve_with(resolver: Resolver) -> None:
    """Ask `resolver` for the launches of all programs from now on.

    At Python's end, wait for what it makes of them to leave Python; what XLA calls later fails.
    """
    _shim.set_xla_resolver(resolver)
    atexit.unregister(_shim.close_xla)
    atexit.register(_shim.close_xla)
