"""A memory in pages, each of which is judged by granules as narrow as the narrowest access to it.

So a kernel that keeps a byte beside its tiles pays for single bytes on the page of that byte, and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.checks.race.pages import PAGE, PAGE_BITS
from pyptx_sim.checks.race.shadow import fitting
from pyptx_sim.checks.race.tables import WIDEST_ACCESS, reach_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.checks.race.shadow import Shadow
    from pyptx_sim.checks.race.tables import Reach
    from pyptx_sim.observer import AsyncAccess, Masks, Offsets, Stores

_MANY = 8  # times as many pages as those that are given narrower granules for the sake of the others


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

    def untouched(self, touch: AsyncAccess) -> bool:
        """Tell at a glance that warps have done nothing that `touch` may meet; False says nothing."""
        return all(shadow.untouched(touch) for shadow in self._shadows.values())

    def parts(self, offsets: Offsets, size: int, reach: Reach) -> Iterator[tuple[Shadow, NDArray[np.int64] | None]]:
        """Yield shadows, and which of some accesses, which begin within a reach, belong to each: None for all."""
        fits = fitting(WIDEST_ACCESS, offsets, size)
        if self._alike(reach, size, fits) or self._made_alike(reach, size, fits):
            yield self._shadow(int(self._granules[reach[0] >> PAGE_BITS])), None
            return
        pages = offsets >> PAGE_BITS
        granules = self._narrowed(pages, fits)
        if size > fits:  # some may lie on two pages, and are judged by one shadow
            last = offsets + (size - 1) >> PAGE_BITS
            across = np.flatnonzero(pages != last)
            if len(across):
                both = np.concatenate([pages[across], last[across]])
                self._narrowed(both, int(self._narrowed(both, fits).min()))
                granules = self._granules.take(pages)
        if granules.min() == granules.max():
            yield self._shadow(int(granules[0])), None
            return
        widths, first = np.unique(granules, return_index=True)
        for granule in widths[first.argsort()].tolist():
            yield self._shadow(granule), np.flatnonzero(granules == granule)

    def parts_of(self, touch: AsyncAccess) -> Iterator[tuple[Shadow, AsyncAccess]]:
        """Yield shadows, and what of a touch belongs to each."""
        reach = reach_of(touch.offsets)
        if not self._alike(reach, touch.size, fitting(WIDEST_ACCESS, touch.offsets, touch.size)):
            touch = _cut(touch)
            reach = reach_of(touch.offsets)
        for shadow, some in self.parts(touch.offsets, touch.size, reach):
            here = touch
            if some is not None:
                here = replace(touch, offsets=touch.offsets[some], owners=touch.owners[some])
            yield shadow, here

    def _alike(self, reach: Reach, size: int, fits: int) -> bool:
        """Tell at a glance that all pages between some accesses have granules of one width, which fits."""
        near = self._granules[reach[0] >> PAGE_BITS : (reach[1] + size - 1 >> PAGE_BITS) + 1]
        return bool(near[0] <= fits and (near == near[0]).all())

    def _made_alike(self, reach: Reach, size: int, fits: int) -> bool:
        """Give the same granules to the few pages between some accesses that have wider ones; tell whether it was done.

        Accesses that leave out a page here and there, at the end of a block's memory say, are alike from then on.
        """
        first = reach[0] >> PAGE_BITS
        near = self._granules[first : (reach[1] + size - 1 >> PAGE_BITS) + 1]
        wider = np.flatnonzero(near != fits)
        if len(wider) * _MANY > len(near) or (near[wider] < fits).any():
            return False
        self._narrowed(wider + first, fits)
        return True

    def _narrowed(self, pages: Offsets, granule: int) -> NDArray[np.uint8]:
        """Give some pages granules no wider than that, and return which they have."""
        granules = self._granules.take(pages)
        if granules.max() <= granule:
            return granules
        wide = np.unique(pages[granules > granule])
        before = self._granules.take(wide)
        for width in np.unique(before).tolist():
            if width in self._shadows:
                self._shadows[width].move(wide[before == width], self._shadow(granule))
        self._granules[wide] = granule
        return self._granules.take(pages)


def _cut(touch: AsyncAccess) -> AsyncAccess:
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

    def unchanged(self, some: Offsets) -> Masks:
        """Tell which of some writes write what lies there."""
        return self._stores.unchanged(self._some[some])

    def bytes_of(self, some: Offsets) -> NDArray[np.uint8]:
        """Return what some writes write, `[writes, bytes]`."""
        return self._stores.bytes_of(self._some[some])

    def addressed_by(self, some: Offsets) -> tuple[Offsets, Offsets]:
        """Return the warps and the lanes that give the addresses of some writes."""
        return self._stores.addressed_by(self._some[some])

    def single(self, which: Offsets, at: Offsets, width: int) -> Stores:
        """Return writes of `width` bytes: those from byte `at[i]` on of write `which[i]`."""
        return self._stores.single(self._some[which], at, width)
