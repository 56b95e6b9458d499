"""A memory of blocks in pages, each of which is judged by granules as narrow as the narrowest access to it.

So a kernel that keeps a byte beside its tiles pays for single bytes on the page of that byte, and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.pages import PAGE
from pyptx_sim.checks.race.shadow import fitting
from pyptx_sim.checks.race.tables import WIDEST_ACCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.shadow import Shadow
    from pyptx_sim.observer import Masks, Offsets, Stores, Touch


class Division:
    """The shadows of a memory, by the width of their granules, and which of them each page belongs to."""

    def __init__(self, size: int, make: Callable[[int], Shadow]) -> None:
        """Begin with memory of so many bytes that nobody has accessed; `make` makes a shadow with granules so wide."""
        self._make = make
        self._shadows: dict[int, Shadow] = {}
        self._granules: NDArray[np.uint8] = np.full(size // PAGE + 1, WIDEST_ACCESS, np.uint8)

    def clear(self) -> None:
        """Forget every access; pages stay as narrow as they are, for what comes next will access them alike."""
        for shadow in self._shadows.values():
            shadow.clear()

    def _shadow(self, granule: int) -> Shadow:
        shadow = self._shadows.get(granule)
        if shadow is None:
            shadow = self._shadows[granule] = self._make(granule)
        return shadow

    def untouched(self, touch: Touch) -> bool:
        """Tell at a glance that warps have done nothing that `touch` may meet; False says nothing."""
        return all(shadow.untouched(touch) for shadow in self._shadows.values())

    def parts(self, offsets: Offsets, size: int) -> Iterator[tuple[Shadow, NDArray[np.int64] | None]]:
        """Yield shadows, and which of some accesses belong to each: None for all."""
        fits = fitting(WIDEST_ACCESS, offsets, size)
        if self._alike(offsets, size, fits):
            yield self._shadow(int(self._granules[offsets[0] // PAGE])), None
            return
        pages, last = offsets // PAGE, (offsets + (size - 1)) // PAGE
        self._narrow(pages, fits)
        across = np.flatnonzero(pages != last)
        if len(across):  # what lies on two pages is judged by one shadow
            both = np.concatenate([pages[across], last[across]])
            self._narrow(both, min(fits, int(self._granules[both].min())))
        granules = self._granules.take(pages)
        widths, first = np.unique(granules, return_index=True)
        for granule in widths[first.argsort()].tolist():
            yield self._shadow(granule), np.flatnonzero(granules == granule) if len(widths) > 1 else None

    def parts_of(self, touch: Touch) -> Iterator[tuple[Shadow, Touch]]:
        """Yield shadows, and what of a touch belongs to each."""
        if not self._alike(touch.offsets, touch.size, fitting(WIDEST_ACCESS, touch.offsets, touch.size)):
            touch = _cut(touch)
        for shadow, some in self.parts(touch.offsets, touch.size):
            here = touch
            if some is not None:
                here = replace(touch, offsets=touch.offsets[some], owners=touch.owners[some])
            yield shadow, here

    def _alike(self, offsets: Offsets, size: int, fits: int) -> bool:
        """Tell at a glance that all pages between some accesses have granules of one width, which fits."""
        near = self._granules[int(offsets.min()) // PAGE : (int(offsets.max()) + size - 1) // PAGE + 1]
        return bool(near[0] <= fits and (near == near[0]).all())

    def _narrow(self, pages: Offsets, granule: int) -> None:
        """Give some pages granules no wider than that."""
        wide = pages[self._granules.take(pages) > granule]
        if not len(wide):
            return
        wide = np.unique(wide)
        before = self._granules.take(wide)
        for width in np.unique(before).tolist():
            if width in self._shadows:
                self._shadows[width].move(wide[before == width], self._shadow(granule))
        self._granules[wide] = granule


def _cut(touch: Touch) -> Touch:
    """Return a touch in pieces that leave no page."""
    width = fitting(PAGE, touch.offsets, touch.size)
    if width == touch.size:
        return touch
    offsets = (touch.offsets[:, None] + np.arange(0, touch.size, width)).reshape(-1)
    return replace(touch, offsets=offsets, size=width, owners=touch.owners.repeat(touch.size // width))


class SomeStores:
    """Some of the writes that an instruction is about to make, by their numbers among these."""

    def __init__(self, stores: Stores, some: NDArray[np.int64]) -> None:
        """Keep all, and which of them."""
        self._stores, self._some = stores, some

    def alike(self, some: Offsets, others: Offsets) -> Masks:
        """Tell which of some writes write the same bytes as others."""
        return self._stores.alike(self._some[some], self._some[others])

    def unchanged(self, some: Offsets) -> Masks:
        """Tell which of some writes write what lies there."""
        return self._stores.unchanged(self._some[some])

    def bytes_of(self, some: Offsets) -> NDArray[np.uint8]:
        """Return what some writes write, `[writes, bytes]`."""
        return self._stores.bytes_of(self._some[some])
