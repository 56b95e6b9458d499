"""Memory divided into pages, each with shadow granules as narrow as the narrowest access to the page.

A kernel that keeps one byte next to its tiles has granules of one byte only in the page of that byte.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pyptx_sim.events import reach_of
from pyptx_sim.shadow.pages import PAGE, PAGE_BITS
from pyptx_sim.shadow.shadow import fitting
from pyptx_sim.shadow.tables import WIDEST_ACCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from pyptx_sim.events import Reach
    from pyptx_sim.observer import AsyncAccess, Masks, Offsets, Stores
    from pyptx_sim.shadow.shadow import Shadow

# If at most one in this many pages of a range has wider granules, they are split, so that the range has one width.
_MANY = 8


class Division:
    """Shadows of one memory, a `Shadow` per shadow granule width, and the granule width of each page."""

    def __init__(self, size: int, make: Callable[[int], Shadow]) -> None:
        """Start with `size` bytes without accesses; `make` creates a `Shadow` with granules of a width in bytes."""
        self._make = make
        self._shadows: dict[int, Shadow] = {}
        self._granules: NDArray[np.uint8] = np.full(size // PAGE + 1, WIDEST_ACCESS, np.uint8)

    def clear(self) -> None:
        """Forget all accesses, but keep the shadow granule width of each page: the next CTAs likely need the same."""
        for shadow in self._shadows.values():
            shadow.clear()

    def _shadow(self, granule: int) -> Shadow:
        shadow = self._shadows.get(granule)
        if shadow is None:
            shadow = self._shadows[granule] = self._make(granule)
        return shadow

    def untouched(self, touch: AsyncAccess) -> bool:
        """Return True if no 1 KiB page that `touch` overlaps has a conflicting access of a warp; False: unknown."""
        return all(shadow.untouched(touch) for shadow in self._shadows.values())

    def parts(self, offsets: Offsets, size: int, reach: Reach) -> Iterator[tuple[Shadow, NDArray[np.int64] | None]]:
        """Yield each shadow with the indices of the accesses in its pages (None: all accesses).

        The accesses of `size` bytes begin at `offsets`, which are between the two numbers of `reach`.
        """
        fits = fitting(WIDEST_ACCESS, offsets, size)
        if self._alike(reach, size, fits) or self._made_alike(reach, size, fits):
            yield self._shadow(int(self._granules[reach[0] >> PAGE_BITS])), None
            return
        pages = offsets >> PAGE_BITS
        granules = self._narrowed(pages, fits)
        if size > fits:  # access across a page boundary: both pages must be in one shadow
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
        """Yield each shadow, and the part of an asynchronous access in its pages."""
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
        """Return whether all pages of an offset range have one shadow granule width, which divides the accesses."""
        near = self._granules[reach[0] >> PAGE_BITS : (reach[1] + size - 1 >> PAGE_BITS) + 1]
        return bool(near[0] <= fits and (near == near[0]).all())

    def _made_alike(self, reach: Reach, size: int, fits: int) -> bool:
        """Narrow the pages of a range that have wider granules, if they are few; return whether one width remains.

        Later accesses to the whole range then need one shadow. An example is a kernel that skips the last page of a
        CTA's memory.
        """
        first = reach[0] >> PAGE_BITS
        near = self._granules[first : (reach[1] + size - 1 >> PAGE_BITS) + 1]
        wider = np.flatnonzero(near != fits)
        if len(wider) * _MANY > len(near) or (near[wider] < fits).any():
            return False
        self._narrowed(wider + first, fits)
        return True

    def _narrowed(self, pages: Offsets, granule: int) -> NDArray[np.uint8]:
        """Split shadow granules of some pages to at most a width in bytes; return the granule width of each page."""
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
    """Return an asynchronous access in pieces that do not cross pages."""
    width = fitting(PAGE, touch.offsets, touch.size)
    if width == touch.size:
        return touch
    offsets = (touch.offsets[:, None] + np.arange(0, touch.size, width)).reshape(-1)
    return replace(touch, offsets=offsets, size=width, owners=touch.owners.repeat(touch.size // width))


class SomeStores:
    """Values of a subset of the writes of an instruction."""

    def __init__(self, stores: Stores, some: NDArray[np.int64]) -> None:
        """Select the writes with indices `some` among an instruction's writes `stores`."""
        self._stores, self._some = stores, some

    def unchanged(self, some: Offsets) -> Masks:
        """Return, for each of the selected writes `some`, whether it leaves memory unchanged."""
        return self._stores.unchanged(self._some[some])

    def bytes_of(self, some: Offsets) -> NDArray[np.uint8]:
        """Return the bytes that the selected writes `some` store, `[writes, bytes]`."""
        return self._stores.bytes_of(self._some[some])

    def addressed_by(self, some: Offsets) -> tuple[Offsets, Offsets]:
        """Return, for each of the selected writes `some`, the warp and the lane that supply its address."""
        return self._stores.addressed_by(self._some[some])

    def single(self, which: Offsets, at: Offsets, width: int) -> Stores:
        """Return parts of the selected writes: `width` bytes from byte `at[i]` of write `which[i]`."""
        return self._stores.single(self._some[which], at, width)
