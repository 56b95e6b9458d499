"""What a simulated run may find: rules, each with a hint and with who looks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyptx_sim.observer import ObserverFactory

__all__ = ["FindingDetails", "Rule", "Severity"]

Severity: TypeAlias = Literal["error", "warning", "note"]


class FindingDetails(TypedDict, total=False):
    """Optional arguments of `report`: `hint` and `severity` in place of the rule's, and the `count` of lanes (1).

    Reports with the same rule and `cause` are one finding, whose counts add up. The default cause is the pair of
    instructions.
    """

    hint: str | None
    count: int
    cause: Hashable
    severity: Severity | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of fault that a run can find: `name` is what `checks=` takes, `summary` a sentence on what is wrong.

    `hint` says what to do, where the finding has no hint of its own. `severity`: `error`, the result can be wrong;
    `warning`, the manual leaves open what happens; `note`, against the letter of the manual, and done all the same.
    `observer(view)` makes the checker that looks for it; rules of one checker share it. `"races"` is the simulator's
    own one of races and asynchronous work, which reports the rules that spaces, proxies and layouts name. Without one
    the steps and the machine report the rule themselves.
    """

    name: str
    summary: str
    hint: str | None = None
    severity: Severity = "error"
    observer: ObserverFactory | Literal["races"] | None = None
