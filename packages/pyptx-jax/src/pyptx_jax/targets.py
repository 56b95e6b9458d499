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
        """Create a registration for no platform yet."""
        self._done: set[str] = set()
        self._lock = threading.Lock()

    def complete(self) -> None:
        """Register the custom call for each platform that lacks it; initializes jax's backends.

        XLA requires the state type to be registered before the handlers. It queues registrations for a platform that
        does not exist yet, and may apply them in another order, so this method skips platforms without a device.
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
