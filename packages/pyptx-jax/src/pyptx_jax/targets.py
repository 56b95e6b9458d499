"""Registration of the custom call `pyptx_launch` with XLA, for the platforms of this process."""

from __future__ import annotations

import threading
from typing import Final

from pyptx_jax import framework
from pyptx_jax.launches import resolve
from pyptx_launch import xla


class Registration:
    """Platforms for which the custom call is registered."""

    def __init__(self) -> None:
        """Start without a registered platform."""
        self._done: set[str] = set()
        self._lock = threading.Lock()

    def complete(self) -> None:
        """Register the custom call for each platform that lacks it; initializes jax's backends.

        XLA requires types to be registered before handlers. It stores registrations for a missing platform in its own
        order, so a platform must exist before types or handlers are registered for it.
        """
        present = framework.platforms()
        with self._lock:
            for target in xla.targets():
                if target.platform in self._done or target.platform.lower() not in present:
                    continue
                xla.resolve_with(resolve)
                framework.register(xla.NAME, target.stages, xla.STATE, target.type, target.platform)
                self._done.add(target.platform)


REGISTRATION: Final = Registration()
"""Custom-call registration of this process, which XLA keeps until exit."""


def register() -> None:
    """Register the custom call with XLA, for programs exported by other processes; calling a kernel does so too."""
    REGISTRATION.complete()
