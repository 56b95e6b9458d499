"""Rows of `pyptx explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from pathlib import Path


@value
class Explanation(Value):
    """Output of `pyptx explain NAME` for a rule of the simulator or of another tool.

    `tool` is the tool that reports it. `summary` is the fault in a few words, `help` the change that removes it. `page`
    is a Markdown file: why it is a fault, an example with its output, and the example without the fault.
    """

    name: str
    tool: str
    severity: str
    summary: str
    help: str = ""
    page: Path | None = None
