"""Which Python wrote each physical line of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_dsl.origin import Recorder, Site
    from pyptx_dsl.tracing.finish import Line
    from pyptx_ir.plugins.rows import Frame


class Origins(Mapping[int, "tuple[Frame, ...]"]):
    """The user's frames behind each physical line of a text (from 1), innermost first, looked up when asked for."""

    __slots__ = ("_known", "_recorder", "_sites")

    def __init__(self, sites: dict[int, Site], recorder: Recorder) -> None:
        """Keep sites, which are code positions, and what turns them into lines."""
        self._sites = sites
        self._recorder = recorder
        self._known: dict[Site, tuple[Frame, ...]] = {}

    def __getitem__(self, line: int) -> tuple[Frame, ...]:
        """Return the frames of a line; KeyError for lines that no user code wrote."""
        site = self._sites[line]
        frames = self._known.get(site)
        if frames is None:
            frames = self._known[site] = self._recorder.frames(site)
        return frames

    def __iter__(self) -> Iterator[int]:
        """Iterate over the lines that have an origin."""
        return iter(self._sites)

    def __len__(self) -> int:
        """Return how many lines have an origin."""
        return len(self._sites)


def line_sites(first: int, lines: Iterable[Line]) -> dict[int, Site]:
    """Return the site of each physical line of statements that follow one another, the lead of the first in `first`."""
    number, sites = first, dict[int, "Site"]()
    for before, within, site in lines:
        number += before
        if site:
            sites.update(dict.fromkeys(range(number, number + within + 1), site))
        number += within
    return sites


def height(lines: Iterable[Line]) -> int:
    """Return how many newlines are before and in the statements."""
    return sum([before + within for before, within, _ in lines])
