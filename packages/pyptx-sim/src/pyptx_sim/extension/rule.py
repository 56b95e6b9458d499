"""Rules: the kinds of faults that a simulated run can report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from pathlib import Path

    from pyptx_sim.observer import ObserverFactory

__all__ = ["FindingDetails", "Rule", "Severity", "explained"]

Severity: TypeAlias = Literal["error", "warning", "note"]


class FindingDetails(TypedDict, total=False):
    """Optional arguments of `report`.

    `label` states what the instruction did: the kind of access and its thread (default: the opcode); `other_label`
    states what the second instruction did. `notes` are facts that explain the fault. `help` and `severity` override
    those of the rule. `count` is the number of lanes at fault (default: 1).

    Reports with equal rule and `cause` are merged into one finding, and their counts add up. The default cause is the
    pair of instructions.

    `follow_ups` are pairs of a pc and a rule: later violations of the rule by that instruction are consequences of this
    one, and are left out.
    """

    label: str | None
    other_label: str | None
    notes: tuple[str, ...]
    help: str | None
    count: int
    cause: Hashable
    follow_ups: Iterable[tuple[int, str]]
    severity: Severity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of fault that a run can report. `name` is accepted by `checks=`; `summary` is one sentence on the fault.

    `help`, the change that removes the fault, is printed with findings that have no help of their own. `severity`:
    `error`, the result can be wrong; `warning`, undefined by the manual; `note`, violates the manual but works in
    practice. `page` is a Markdown file for `pyptx explain`: why it is a fault, an example with its output, and the
    example without the fault.

    `part_of`: rules of wider faults. If two instructions violate one of them and this rule, that is one finding.

    `checker(view)` creates the checker that reports the rule; rules with the same checker share one instance.
    `RaceChecker` is the built-in checker of races and asynchronous operations, which reports the rules named by spaces,
    proxies and layouts. Without `checker`, the instruction semantics and the machine report the rule.
    """

    name: str
    summary: str
    part_of: frozenset[str] = frozenset()
    page: Path | None = None
    help: str | None = None
    severity: Severity = "error"
    checker: ObserverFactory | None = None


def explained(pages: Path, *rules: Rule) -> tuple[Rule, ...]:
    """Return `rules` with their pages: `pages/<name>.md` for the rule `name`."""
    return tuple(replace(rule, page=pages / f"{rule.name}.md") for rule in rules)
