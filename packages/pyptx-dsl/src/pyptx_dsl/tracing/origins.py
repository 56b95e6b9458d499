"""Python stack frames that emitted each line of a PTX text."""

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
"""One statement or brace: the newline counts of its leading trivia and of its own text, and its Site."""


class Origins(Mapping[int, "tuple[Frame, ...]"]):
    """Line number of a PTX text (from 1) -> user's Python frames, innermost first, computed on access."""

    def __init__(self, find: Callable[[], dict[int, Site]], recorder: Recorder) -> None:
        """Store the function that returns the code position (Site) of a PTX line, and the recorder of the Sites."""
        self._find = find
        self._recorder = recorder
        self._known: dict[Site, tuple[Frame, ...]] = {}

    @cached_property
    def _sites(self) -> dict[int, Site]:
        return self._find()

    def __getitem__(self, line: int) -> tuple[Frame, ...]:
        """Return the Python frames that emitted a PTX line; raise KeyError for a line that no user code emitted."""
        site = self._sites[line]
        frames = self._known.get(site)
        if frames is None:
            frames = self._known[site] = self._recorder.frames(site)
        return frames

    def __iter__(self) -> Iterator[int]:
        """Iterate over the numbers of the lines that user code emitted."""
        return iter(self._sites)

    def __len__(self) -> int:
        """Return the number of lines that user code emitted."""
        return len(self._sites)


def lines_inside(node: nodes.Block | nodes.Section, sites: Iterable[Site | None]) -> list[Line]:
    """Return a `Line` for each statement between the braces of a node and for the closing brace, with its Site."""
    return list(_inside(node, iter(sites)))


def _inside(node: nodes.Block | nodes.Section, sites: Iterator[Site | None]) -> Iterator[Line]:
    for each in node.body:
        yield nodes.trivia_of(each).count("\n"), each.raw.count("\n") if each.raw else 0, next(sites)
        if isinstance(each, nodes.Block):
            yield from _inside(each, sites)
    yield (node.closing_trivia or "").count("\n"), 0, next(sites)


def line_sites(first: int, lines: Iterable[Line]) -> dict[int, Site]:
    """Return line number -> Site for consecutive statements; the first statement's trivia starts in line `first`."""
    number, sites = first, dict[int, "Site"]()
    for before, within, site in lines:
        number += before
        if site:
            sites.update(dict.fromkeys(range(number, number + within + 1), site))
        number += within
    return sites


def height(lines: Iterable[Line]) -> int:
    """Return the number of newlines before and inside consecutive statements."""
    return sum([before + within for before, within, _ in lines])
