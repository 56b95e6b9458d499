"""Which Python wrote each physical line of a text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyptx_dsl.origin import Recorder, Site
    from pyptx_ir.plugins.rows import Frame

Line: TypeAlias = "tuple[int, int, Site | None]"
"""One statement (or brace) in the order of the text: the newlines before and in it, and its site."""


class Origins(Mapping[int, "tuple[Frame, ...]"]):
    """The user's frames behind each physical line of a text (from 1), innermost first, looked up when asked for."""

    def __init__(self, find: Callable[[], dict[int, Site]], recorder: Recorder) -> None:
        """Keep what finds the sites of the lines, which are code positions, and what turns them into frames."""
        self._find = find
        self._recorder = recorder
        self._known: dict[Site, tuple[Frame, ...]] = {}

    @cached_property
    def _sites(self) -> dict[int, Site]:
        return self._find()

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


def lines_inside(node: nodes.Block | nodes.Section, sites: Iterable[Site | None]) -> list[Line]:
    """Return the lines of what stands between braces, with the closing one; `sites` are theirs, in the same order."""
    return list(_inside(node, iter(sites)))


def _inside(node: nodes.Block | nodes.Section, sites: Iterator[Site | None]) -> Iterator[Line]:
    for each in node.body:
        yield nodes.lead_of(each).count("\n"), each.raw.count("\n") if each.raw else 0, next(sites)
        if isinstance(each, nodes.Block):
            yield from _inside(each, sites)
    yield (node.close_lead or "").count("\n"), 0, next(sites)


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
