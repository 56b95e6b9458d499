"""Transpiler rules, one of which prints a wrong first rewrite; verification must reject only this rewrite."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_transpile.rules.table import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile.planning.plan import Rewrite, RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body


def wrong_first(rule: SugarRule, change: Callable[[str], str]) -> list[SugarRule]:
    """Return all transpiler rules; in the first rewrite of `rule`, `change` alters the last Python line."""

    def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
        for number, rewrite in enumerate(rule.find(body, plan)):
            yield rewrite if number else replace(rewrite, write=_changed(rewrite, change))

    return [replace(each, find=find) if each is rule else each for each in RULES]


def _changed(rewrite: Rewrite, change: Callable[[str], str]) -> Callable[[BodyPrinter, tuple[Slot, ...]], None]:
    def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
        rewrite.write(printer, slots)
        printer.page.lines[-1] = change(printer.page.lines[-1])

    return write
