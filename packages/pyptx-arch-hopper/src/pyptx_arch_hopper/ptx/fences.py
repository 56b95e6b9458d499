"""Hopper's fences: between the generic proxy and the async and tensormap proxies.

Manual: "membar / fence", "Proxies". These fences extend `ptx.fence`: `fence.proxy_async` and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["FENCES", "PlainFence", "ProvidedFences", "ReadRelease", "TensorMapAcquire", "TensorMapRelease"]

_ACQUIRE = InstructionForms("ptx.fence.proxy_tensormap_acquire", "fence.proxy.tensormap::generic.acquire")
_RELEASE = InstructionForms("ptx.fence.proxy_tensormap_release", "fence.proxy.tensormap::generic.release")
_READ = InstructionForms(
    "ptx.fence.proxy_async_generic_release_read",
    "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read",
)
_MAP_BYTES = 128


@dataclass(frozen=True, slots=True)
class PlainFence:
    """A fence without operands; calling it emits one instruction."""

    name: str
    syntax: str
    effect: str

    @emits("{self.syntax}")
    def __call__(self, *, pred: Reg | None = None) -> None:
        """Emit the fence instruction."""
        active(f"ptx.fence.{self.name}").emit(tuple(self.syntax.split(".")), (), pred)

    def __repr__(self) -> str:
        return f"ptx.fence.{self.name}: {self.syntax}: {self.effect}"


class TensorMapAcquire:
    """`ptx.fence.proxy_tensormap_acquire`: acquire fence for a modified tensor map."""

    @emits("fence.proxy.tensormap::generic.acquire")
    def __call__(self, tensor_map: object, scope: str = "gpu", *, pred: Reg | None = None) -> None:
        """Emit `fence.proxy.tensormap::generic.acquire.scope [map], 128;`: acquire writes to a tensor map."""
        words = _ACQUIRE.words(scope=scope)
        active(repr(_ACQUIRE)).emit(words, (as_address(tensor_map), _MAP_BYTES), pred)


class TensorMapRelease:
    """`ptx.fence.proxy_tensormap_release`: release fence after modification of tensor maps."""

    @emits("fence.proxy.tensormap::generic.release")
    def __call__(self, scope: str = "gpu", *, pred: Reg | None = None) -> None:
        """Emit `fence.proxy.tensormap::generic.release.scope;`: release writes to tensor maps."""
        active(repr(_RELEASE)).emit(_RELEASE.words(scope=scope), (), pred)


class ReadRelease:
    """`ptx.fence.proxy_async_generic_release_read`: release fence for generic reads."""

    @emits("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read")
    def __call__(self, scope: str = "cluster", *, pred: Reg | None = None) -> None:
        """Emit `fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.scope;` (PTX 9.4).

        Orders earlier generic reads before asynchronous copies that overwrite the data.
        """
        active(repr(_READ)).emit(_READ.words(scope=scope), (), pred)


class ProvidedFences:
    """Hopper's fences as attributes of `ptx.fence`, for type checkers."""

    mbarrier_init: PlainFence
    """Emit `fence.mbarrier_init.release.cluster;`: make initialized mbarriers visible to the cluster."""
    proxy_async: PlainFence
    """Emit `fence.proxy.async;`: order generic accesses and asynchronous copies, in all memory."""
    proxy_async_global: PlainFence
    """Emit `fence.proxy.async.global;`: order generic-proxy and async-proxy accesses, in global memory."""
    proxy_async_shared_cta: PlainFence
    """Emit `fence.proxy.async.shared::cta;`: order generic-proxy and async-proxy accesses, in CTA shared memory."""
    proxy_async_shared_cluster: PlainFence
    """Emit `fence.proxy.async.shared::cluster;`: order generic- and async-proxy accesses, in cluster shared memory."""
    proxy_async_generic_acquire_shared_cluster: PlainFence
    proxy_async_generic_release_shared_cta: PlainFence
    proxy_async_generic_release_read: ReadRelease
    proxy_tensormap_acquire: TensorMapAcquire
    proxy_tensormap_release: TensorMapRelease


_PLAIN = (
    PlainFence("proxy_async", "fence.proxy.async", "order generic-proxy and async-proxy accesses, in all memory"),
    PlainFence(
        "proxy_async_global",
        "fence.proxy.async.global",
        "order generic-proxy and async-proxy accesses, in global memory",
    ),
    PlainFence(
        "proxy_async_shared_cta",
        "fence.proxy.async.shared::cta",
        "order generic-proxy and async-proxy accesses, in the CTA's shared memory",
    ),
    PlainFence(
        "proxy_async_shared_cluster",
        "fence.proxy.async.shared::cluster",
        "order generic-proxy and async-proxy accesses, in the cluster's shared memory",
    ),
    PlainFence("mbarrier_init", "fence.mbarrier_init.release.cluster", "make mbarrier.init visible to the cluster"),
    PlainFence(
        "proxy_async_generic_acquire_shared_cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "acquire the results of asynchronous copies (PTX 8.6)",
    ),
    PlainFence(
        "proxy_async_generic_release_shared_cta",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "release generic-proxy writes to asynchronous copies (PTX 8.6)",
    ),
)
FENCES: dict[str, object] = {
    **{fence.name: fence for fence in _PLAIN},
    "proxy_async_generic_release_read": ReadRelease(),
    "proxy_tensormap_acquire": TensorMapAcquire(),
    "proxy_tensormap_release": TensorMapRelease(),
}
"""Hopper's fences, by name in `ptx.fence`."""
