"""Registering the custom call with XLA, for the platforms that this process has."""

from __future__ import annotations

import threading
from typing import Final

from pyptx_jax import framework
from pyptx_jax.launches import resolve
from pyptx_launch import xla


class Registration:
    """Which platforms know the custom call."""

    def __init__(self) -> None:
        """Start with none."""
        self._done: set[str] = set()
        self._lock = threading.Lock()

    def complete(self) -> None:
        """Register the call for each platform that has not got it; initialises jax's backends.

        XLA refuses handlers before their types, and keeps what is registered for a platform that is not there yet in an
        order of its own: so nothing is registered for a platform before it is there.
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
"""The registration of this process; XLA keeps it for as long."""


def register() -> None:
    """Make XLA know the kernels of programs that were exported elsewhere; calling a kernel does it by itself."""
    REGISTRATION.complete()
