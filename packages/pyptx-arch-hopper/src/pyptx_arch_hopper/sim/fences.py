"""The proxy of tensor maps, and the fences of the async proxy and of initialised mbarriers. Manual: "membar, fence"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import ASYNC, Proxy, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.extension import Action, Operands

TENSOR_MAPS: Final = Proxy(name="tensormap", unfenced="missing-tensormap-fence", one_way=True, reads="the tensor map")
"""That by which copies read their tensor maps. Manual: "Proxies"."""


def _initialised(operands: Operands) -> Action:
    """Show others the mbarriers that have been initialised. Manual: "fence.mbarrier_init"."""
    return operands.action(lambda turn: turn.show_mbarriers())


def _of_proxy(operands: Operands) -> Action:
    """Order the generic and the async proxy, in one space or in both."""
    named = {space.partition("::")[0] for space in _spaces(operands)}
    spaces = ("shared",) if "shared" in named else ("global",) if "global" in named else ("shared", "global")
    return operands.action(lambda turn: turn.show(ASYNC, *spaces))


def _spaces(operands: Operands) -> Iterator[str]:
    """Yield the spaces that a fence names, those to which it restricts itself among them."""
    return (word.removeprefix("sync_restrict::") for word in operands.words.values())


STEPS: Final = (
    Step(opcode="fence.proxy.async", effect="order", compile=_of_proxy),
    Step(opcode="fence.proxy.async::generic", effect="order", compile=_of_proxy),
    Step(opcode="fence.mbarrier_init", effect="order", compile=_initialised),
)
