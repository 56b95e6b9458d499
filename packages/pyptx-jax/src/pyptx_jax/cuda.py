"""Kernels on NVIDIA GPUs: machine code through the toolchain and its cache, loaded by the driver."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from pyptx_dsl.images import image_of
from pyptx_launch import Module, Plan, driver, plan_for

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization


def plan_of(special: Specialization) -> Plan:
    """Return the plan of a traced kernel, for any device of this machine.

    XLA compiles a program before it says which device will run it, so where generations are mixed, the code is that of
    the kernel's own target.
    """
    targets = {device.target for device in driver.devices()}
    return plan_for(special, MODULES.get(special, targets.pop() if len(targets) == 1 else None))


@dataclass(frozen=True, slots=True)
class _Code:
    """What decides which machine code is loaded."""

    text: str
    image: bytes | None
    target: str
    device: str | None


class Modules:
    """Loaded code, shared by all programs that call a kernel, for as long as one of them lives.

    XLA compiles programs on several threads. Each kernel is compiled by one of them, which holds no lock meanwhile; who
    wants the same kernel waits, and compiles it if the first could not.
    """

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._known: WeakValueDictionary[_Code, Module] = WeakValueDictionary()
        self._made: dict[_Code, threading.Event] = {}  # set when a thread is done with it

    def get(self, special: Specialization, device: str | None) -> Module:
        """Return the code of a kernel, compiled for a device if that is known and loaded if need be."""
        code = _Code(special.text, special.image, special.target, device)
        while (known := self._begin(code)) is not None:
            if isinstance(known, Module):
                return known
            known.wait()
        try:
            module = Module(image_of(special, device))
            self._known[code] = module
            return module
        finally:
            with self._lock:
                self._made.pop(code).set()

    def _begin(self, code: _Code) -> Module | threading.Event | None:
        """Return what is loaded, or who is at it; None where the caller is to make it."""
        with self._lock:
            known = self._known.get(code) or self._made.get(code)
            if known is None:
                self._made[code] = threading.Event()
            return known


MODULES: Final = Modules()
"""The code that this process has loaded for XLA."""
