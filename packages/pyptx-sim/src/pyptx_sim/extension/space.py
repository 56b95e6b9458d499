"""State spaces beyond those of ordinary PTX, and memory proxies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ASYNC", "Proxy", "Space", "name_of"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Space:
    """State space that every CTA has besides those of ordinary PTX: `size` bytes from address 0, new for each CTA.

    Reads of unwritten bytes are found as in shared memory. Two unordered accesses break the rule `<name>-race`, which
    the extension must define. `describe(address)` returns a symbolic address.
    """

    name: str
    size: int
    describe: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proxy:
    """Memory proxy other than the generic one, used by asynchronous operations. Manual: "Proxies".

    Writes by warps are visible to it only after a proxy fence (`ExecutionContext.proxy_fence`). An asynchronous access
    to bytes without a fence breaks the rule `unfenced`, which the extension must define.

    `one_way`: operations only read through the proxy, and its fences are unidirectional. The writing thread releases to
    the proxy (`ExecutionContext.release_to`). Then the issuing thread acquires the bytes that are read
    (`ExecutionContext.acquire_through`). `reads` names the object read there, for messages: "tensor map".
    """

    name: str
    unfenced: str
    one_way: bool = False
    reads: str = "memory"


ASYNC: Final = Proxy(name="async", unfenced="missing-proxy-fence")
"""Proxy of bulk copies, tensor copies and MMA. Manual: "Async Proxy"."""


def name_of(space: Space | str) -> str:
    """Return the name of a space, given by its name or as an extension's `Space`."""
    return space if isinstance(space, str) else space.name
