"""Loops that fail verification: unrolled printing shows whether a rewrite inside the loop or the loop is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_transpile.planning.plan import Key, Rewrite
    from pyptx_transpile.proof.verification import Faults


class Suspects:
    """Loop rewrites that failed verification once and are now printed iteration by iteration."""

    def __init__(self) -> None:
        """Create an empty set of loop rewrites."""
        self._held: dict[int, dict[Key, tuple[Rewrite, str]]] = {}

    def of(self, start: int) -> frozenset[Key]:
        """Return the keys (rule, start, end) of candidate loops in the function body that starts at index `start`."""
        return frozenset(self._held.get(start, ()))

    def judge(self, faults: Faults) -> Faults:
        """Return the rewrites that cause `faults`. A loop that fails for the first time becomes a candidate instead.

        A candidate is dropped if a rewrite inside it is faulty. A candidate is a cause if the function body with
        unrolled candidates has no fault.
        """
        guilty: Faults = {}
        held, self._held = self._held, {}
        for start in faults.keys() | held.keys():
            wrong, before = faults.get(start, {}), held.get(start, {})
            guilty[start] = {
                rewrite: why for rewrite, why in wrong.items() if not rewrite.repeats or rewrite.key in before
            }
            if not wrong:
                guilty[start] = dict(before.values())
                continue
            still = {key: held for key, held in before.items() if not any(_has(held[0], rewrite) for rewrite in wrong)}
            new = {rewrite.key: (rewrite, why) for rewrite, why in wrong.items() if rewrite not in guilty[start]}
            self._held[start] = still | new
        return {start: rewrites for start, rewrites in guilty.items() if rewrites}


def _has(loop: Rewrite, rewrite: Rewrite) -> bool:
    return loop.start <= rewrite.start < loop.end
