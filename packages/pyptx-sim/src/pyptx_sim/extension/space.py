"""State spaces that plugins add to the simulator, such as tensor memory, and memory proxies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ASYNC", "Proxy", "Space", "name_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """State space that a plugin adds: each CTA has `size` bytes from address 0, uninitialized when the CTA starts.

    The checks report reads of unwritten bytes, as in shared memory. Two unordered accesses break the rule
    `<name>-race`, which the extension must define. `describe(address)` returns the address as text for messages.
    """

    name: str
    size: int
    describe: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proxy:
    """Memory proxy other than the generic one, used by asynchronous operations. Manual: "Proxies".

    Writes by warps are visible to it only after a proxy fence (`ExecutionContext.proxy_fence`). An asynchronous access
    to written bytes without this fence breaks the rule `unfenced`, which the extension must define.

    `one_way`: operations only read through the proxy, and its fences are unidirectional. The writing thread releases to
    the proxy (`ExecutionContext.release_to`). Then the thread that issues an operation acquires the bytes that it reads
    (`ExecutionContext.acquire_through`). `reads` names the object that operations read through the proxy, for messages:
    "tensor map".
    """

    name: str
    unfenced: str
    one_way: bool = False
    reads: str = "memory"


ASYNC: Final = Proxy(name="async", unfenced="missing-proxy-fence")
"""Proxy of bulk copies, tensor copies and MMA. Manual: "Async Proxy"."""


def name_of(space: Space | str) -> str:
    """Return the name of `space`, which is a name or an extension's `Space`."""
    return space if isinstance(space, str) else space.name
