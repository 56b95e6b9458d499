"""Line numbers of compared statements in their module's text."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from pyptx_diff.items import DiffItem, Node, spelling
from pyptx_diff.result import StatementLine
from pyptx_ir.syntax.emitter import emit
from pyptx_ir.syntax.nodes import HeaderDirective, Parameter
from pyptx_ir.syntax.source import Source
from pyptx_ir.syntax.spans import positions

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Module


class Places:
    """Line numbers of statements in a module's text, which is emitted at the first query."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def of(self, item: DiffItem, shown: str | None = None) -> StatementLine:
        """Return the line number and the text of a statement; reports show `shown` instead of the text if given."""
        text = spelling(item.node)
        return StatementLine(self.line(item.at, item.node), text, text if shown is None else shown)

    def line(self, at: int, node: Node | None = None) -> int:
        """Return the line of a statement, given its number, or of a part of a function's header."""
        start = self._starts[at]
        if isinstance(node, Parameter | HeaderDirective):
            start = self._part(start, node)
        return self._source.line_column(start)[0]

    def _part(self, start: int, node: Parameter | HeaderDirective) -> int:
        """Return the offset of a part of a function header; the start of the header if the part's name is not found."""
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
