"""Loops whose lines are wrong: which turn it is, or the loop itself, is known when turns are printed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_transpile.plan import Claim, Key
    from pyptx_transpile.proof import Faults


class Suspects:
    """The loops that are printed turn by turn, since something is wrong with what they say."""

    def __init__(self) -> None:
        """Suspect nobody."""
        self._held: dict[int, dict[Key, tuple[Claim, str]]] = {}

    def of(self, start: int) -> frozenset[Key]:
        """Return the keys of the suspects in the body that starts at a place."""
        return frozenset(self._held.get(start, ()))

    def judge(self, faults: Faults) -> Faults:
        """Return the claims that are guilty of faults, and suspect the loops among the others.

        A suspect is let go where something in it is at fault, and is guilty where nothing in its body is any more.
        """
        guilty: Faults = {}
        held, self._held = self._held, {}
        for start in faults.keys() | held.keys():
            wrong, before = faults.get(start, {}), held.get(start, {})
            guilty[start] = {claim: why for claim, why in wrong.items() if not claim.repeats or claim.key in before}
            if not wrong:
                guilty[start] = dict(before.values())
                continue
            still = {key: held for key, held in before.items() if not any(_has(held[0], claim) for claim in wrong)}
            new = {claim.key: (claim, why) for claim, why in wrong.items() if claim not in guilty[start]}
            self._held[start] = still | new
        return {start: claims for start, claims in guilty.items() if claims}


def _has(loop: Claim, claim: Claim) -> bool:
    return loop.start <= claim.start < loop.end
