"""Random number generators of the virtual device.

A CUDA generator here is a generator of torch's CPU algorithm, labeled with the device `cuda:0`. Therefore random
numbers are reproducible from a seed, and differ from the ones that a GPU computes from the same seed.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import torch

from pyptx_virtual.errors import UnsupportedTorch

if TYPE_CHECKING:
    from collections.abc import Generator

_CPU_KEYS: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU).raw_repr()  # noqa: SLF001 - no public spelling
_CUDA_KEYS: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA).raw_repr()  # noqa: SLF001 - the same
_CPU_DEVICE: Final = 0xFF00  # c10::Device: type 0 in the low byte, index -1 in the next one
_CUDA_DEVICE: Final = 0x0001  # type 1, index 0
_HANDLE: Final = object.__basicsize__  # offset of `cdata`, the pointer to at::GeneratorImpl, in THPGenerator
_SEARCHED: Final = 16  # words of at::GeneratorImpl among which its device is searched


class RandomNumbers:
    """The generators of `cuda:0`."""

    def __init__(self) -> None:
        self.default = new_generator()
        self._lock = threading.RLock()

    @contextmanager
    def used_by_cpu_kernels(self, generator: torch.Generator | None) -> Generator[None]:
        """Lend a CUDA generator (None: the default one) to CPU kernels while the context is open.

        Raise torch's RuntimeError for a generator of another device.
        """
        if generator is not None and generator.device.type != "cuda":
            raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
        drawn = self.default if generator is None else generator
        with self._lock:
            former = torch.default_generator.get_state()
            torch.default_generator.set_state(drawn.get_state())
            try:
                yield
            finally:
                drawn.set_state(torch.default_generator.get_state())
                torch.default_generator.set_state(former)


def new_generator() -> torch.Generator:
    """Return a generator on `cuda:0`.

    Its class has no constructor for that without CUDA. The device and the dispatch keys of a new CPU generator are
    adjacent words in memory, and are found by their values.
    """
    generator = torch.Generator()
    words = (ctypes.c_uint64 * _SEARCHED).from_address(handle(generator))
    for index in range(_SEARCHED - 1):
        if words[index] & 0xFFFF == _CPU_DEVICE and words[index + 1] == _CPU_KEYS:
            words[index] = words[index] & ~0xFFFF | _CUDA_DEVICE
            words[index + 1] = _CUDA_KEYS
            break
    if generator.device != torch.device("cuda", 0):
        raise UnsupportedTorch(f"torch {torch.__version__}: the device of a torch.Generator was not found in memory")
    generator.manual_seed(torch.default_generator.initial_seed())
    return generator


def handle(generator: torch.Generator) -> int:
    """Return the address of the C++ object of a generator."""
    return ctypes.c_uint64.from_address(id(generator) + _HANDLE).value


def take_handle(generator: torch.Generator) -> int:
    """Return the address of the C++ object of a generator, with its reference, which the Python object loses."""
    cell = ctypes.c_uint64.from_address(id(generator) + _HANDLE)
    address, cell.value = cell.value, 0
    return address
