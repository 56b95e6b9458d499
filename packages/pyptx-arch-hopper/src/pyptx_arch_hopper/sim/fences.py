"""The proxy of tensor maps, and the fences of the async proxy and of initialised mbarriers. Manual: "membar, fence"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.extension import ASYNC, Proxy, Step

if TYPE_CHECKING:
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.observer import Space

TENSOR_MAPS: Final = Proxy(name="tensormap", unfenced="missing-tensormap-fence", one_way=True, reads="the tensor map")
"""That by which copies read their tensor maps. Manual: "Proxies"."""


def _initialised(wave: Wave, lanes: Lanes) -> None:
    """Tell of mbarriers that have been initialised. Manual: "fence.mbarrier_init"."""
    if wave.machine.observers.active:
        wave.machine.observers.init_fence(*lanes.by_warp())


def _of_proxy(operands: Operands) -> Action:
    """Order the generic and the async proxy, in one space or in both."""
    opcode = operands.opcode
    named = [word.partition("::")[0] for word in opcode[3:]]
    shared = any(word.startswith(("shared", "sync_restrict::shared")) for word in opcode)
    spaces: tuple[Space, ...] = ("shared",) if shared else ("global",) if "global" in named else ("shared", "global")

    def step(wave: Wave, lanes: Lanes) -> None:
        if wave.machine.observers.active:
            wave.machine.observers.proxy_fence(ASYNC, *lanes.by_warp(), spaces)

    return step


STEPS: Final = (
    Step(opcode="fence.proxy.async", effect="order", compile=_of_proxy),
    Step(opcode="fence.proxy.async::generic", effect="order", compile=_of_proxy),
    Step(opcode="fence.mbarrier_init", effect="order", compile=lambda _operands: _initialised),
)
