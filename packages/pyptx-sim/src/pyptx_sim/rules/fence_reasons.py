"""Reasons why no proxy fence orders two accesses: it is missing, or the later access is not ordered after it.

A thread may execute a proxy fence after its access, and then arrive at an mbarrier with a scope that does not include
the thread that issues the asynchronous operation. Then the fence is correct, and the scope is the fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.events import MASK, TIME
from pyptx_sim.happens_before.lane_masks import lanes_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pyptx_sim.extension.space import Proxy
    from pyptx_sim.happens_before.clocks import WarpClocks
    from pyptx_sim.observer import RunView, Space
    from pyptx_sim.rules.async_races import AsyncRaces

_IN_CLUSTER: Final = (
    "order the fence before the operation: mbarrier.arrive.release.cluster and mbarrier.try_wait.acquire.cluster, or "
    "barrier.cluster (cluster.sync())"
)
_IN_CTA: Final = "order the fence before the operation: put bar.sync (__syncthreads) or an mbarrier between them"


def fence_reason(
    view: RunView,
    clocks: WarpClocks,
    races: AsyncRaces,
    proxy: Proxy,
    space: Space,
    issuer: int,
    warp: int,
    last: NDArray[np.int32],
) -> tuple[str, tuple[str, ...], str | None]:
    """Return text for the message between the two accesses, notes, and help (None: the help of the rule).

    `issuer` is the warp that issues the asynchronous operation; `last` is the shadow entry of an access by `warp`.
    """
    mask, time = int(last[MASK]), int(last[TIME])
    lanes = np.array(lanes_in(mask))
    own = clocks.rows(np.full(len(lanes), warp), lanes)
    asked = np.full(len(lanes), warp), np.full(len(lanes), mask, np.int32), np.full(len(lanes), time)
    if races.unfenced(proxy, space, own, *asked).all():
        return "without a proxy fence after", (), None
    how = "is not ordered after the proxy fence that follows"
    if warp // view.warps_per_cta == issuer // view.warps_per_cta:
        return how, (), _IN_CTA
    note = (
        "the two accesses are in different CTAs, which scope .cta, the default of mbarrier operations, does not include"
    )
    return how, (note,), _IN_CLUSTER
