"""The tensormap proxy, fence.proxy.async, and fence.mbarrier_init. Manual: "membar, fence"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import ASYNC, InstructionSemantics, Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.extension import Action, Operands

TENSOR_MAPS: Final = Proxy(name="tensormap", unfenced="missing-tensormap-fence", one_way=True, reads="tensor map")
"""Proxy through which copies read their tensor maps. Manual: "Proxies"."""


def _initialized(operands: Operands) -> Action:
    """Make initialized mbarriers visible to the threads of the cluster. Manual: "fence.mbarrier_init"."""
    return operands.action(lambda turn: turn.show_mbarriers())


def _of_proxy(operands: Operands) -> Action:
    """Return the action of fence.proxy.async, for global memory, shared memory, or both."""
    named = {space.partition("::")[0] for space in _spaces(operands)}
    spaces = ("shared",) if "shared" in named else ("global",) if "global" in named else ("shared", "global")
    return operands.action(lambda turn: turn.proxy_fence(ASYNC, *spaces))


def _spaces(operands: Operands) -> Iterator[str]:
    """Yield the state spaces that a fence names, including those in `sync_restrict`."""
    return (word.removeprefix("sync_restrict::") for word in operands.words.values())


STEPS: Final = (
    InstructionSemantics(opcode="fence.proxy.async", effect="order", compile=_of_proxy),
    InstructionSemantics(opcode="fence.proxy.async::generic", effect="order", compile=_of_proxy),
    InstructionSemantics(opcode="fence.mbarrier_init", effect="order", compile=_initialized),
)
