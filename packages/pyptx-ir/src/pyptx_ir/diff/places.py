"""In which line an item stands."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pyptx_ir.diff.items import Item, Node, spelling
from pyptx_ir.diff.result import Place
from pyptx_ir.syntax.emitter import emit
from pyptx_ir.syntax.nodes import HeaderDirective, Parameter
from pyptx_ir.syntax.source import Source
from pyptx_ir.syntax.spans import positions

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Module


class Places:
    """The lines of a module's text, which is only laid out when the first is asked for."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def of(self, item: Item, shown: str | None = None) -> Place:
        """Return where an item stands, and its text, which reports show unless there is another one for them."""
        text = spelling(item.node)
        return Place(self.line(item.at, item.node), text, text if shown is None else shown)

    def line(self, at: int, node: Node | None = None) -> int:
        """Return the line of a statement by its number; with part of a function's header, of that part."""
        start = self._starts[at]
        if isinstance(node, Parameter | HeaderDirective):
            start = self._part(start, node)
        return self._source.line_column(start)[0]

    def _part(self, start: int, node: Parameter | HeaderDirective) -> int:
        """Return where part of a header begins; it is near, and a name that is not found is in the first line."""
        text = self._source.text
        word = node.name if isinstance(node, Parameter) else f".{node.name}"
        found = re.compile(rf"(?<![\w$%]){re.escape(word)}(?![\w$])").search(text, text.find("(", start))
        return found.start() if word and found is not None else start

    @cached_property
    def _source(self) -> Source:
        return Source(emit(self._module))

    @cached_property
    def _starts(self) -> list[int]:
        return [span.start for _, span in positions(self._module)]
