"""Dispatch of the machine's events to all observers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.machine.lanes import united
from pyptx_sim.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_sim.machine.lanes import IntArray
    from pyptx_sim.observer import Masks

_EVENTS: Final = tuple(name for name in vars(Observer) if name[0] != "_" and name != "launched_behind")
_TOGETHER: Final = {"issued_together": "issued", "signalled_together": "signal"}
"""Batched events, each with the single event that an observer receives per item if it does not override the batch."""


class Observers(Observer):
    """Observer that forwards each event to the observers of a run that override the event's method.

    `active` is False without observers, so that callers need not prepare events.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        """Dispatch events to `observers`."""
        self.observers = tuple(observers)
        self.active = bool(observers)
        for event in _EVENTS:
            handlers = [getattr(each, event) for each in observers if _hears(each, event)]
            if handlers:
                setattr(self, event, handlers[0] if len(handlers) == 1 else _each(handlers))

    def beside(self, observer: Observer) -> Observers:
        """Return a dispatcher to the observers of this dispatcher and to `observer`."""
        return Observers([*self.observers, observer])

    def without(self, observer: Observer) -> Observers:
        """Return a dispatcher to the observers of this dispatcher except `observer`."""
        return Observers([each for each in self.observers if each is not observer])

    def launched_behind(self, before: Observer) -> None:
        """Connect each observer to the corresponding observer of the prerequisite grid."""
        for own, other in zip(self.observers, before.observers if isinstance(before, Observers) else (), strict=False):
            own.launched_behind(other)

    def barriers(self, warps: IntArray, masks: Masks, keys: IntArray, pc: int) -> None:
        """Emit one `barrier` event per distinct barrier key, for the lanes of the warps that synchronize there.

        If each warp occurs once, a single event reports all keys.
        """
        if not self.active:
            return
        if bool((warps[1:] > warps[:-1]).all()):
            self.barrier(warps, masks, keys, pc)
            return
        for key in np.unique(keys).tolist():
            here = keys == key
            met, lanes = united(warps[here], masks[here])
            self.barrier(met, lanes, keys[here][: len(met)], pc)


def _hears(observer: Observer, event: str) -> bool:
    """Return whether an observer overrides the method of an event."""
    if event in _TOGETHER and _hears(observer, _TOGETHER[event]):
        return True
    return getattr(type(observer), event) is not getattr(Observer, event)


def _each(handlers: Sequence[Callable[..., None]]) -> Callable[..., None]:
    def tell(*told: object, **named: object) -> None:
        for handler in handlers:
            handler(*told, **named)

    return tell
