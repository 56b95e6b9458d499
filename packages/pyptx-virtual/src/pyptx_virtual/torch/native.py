"""C++ objects of torch that must exist for CUDA tensors: the device guard, and the hooks of the CUDA backend.

A CPU build of torch has no device guard for CUDA. torch offers a guard that is written in Python, for another device
type; its pointer is also stored in the registry's entry for CUDA. The hooks of a CPU build report no devices. Their
table of virtual functions is replaced by a copy in which a few entries are functions of this module.

Both need names and layouts that torch does not promise. Each is looked up in the library's symbols and in the headers
that torch installs, and `UnsupportedTorch` names a missing one.
"""

from __future__ import annotations

import atexit
import ctypes
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from pyptx_virtual.errors import UnsupportedTorch
from pyptx_virtual.torch import random_numbers

if TYPE_CHECKING:
    from pyptx_virtual.torch.random_numbers import RandomNumbers

# ruff: noqa: SLF001 - the module is about private names

_ROOT: Final = Path(torch.__file__).parent
_CUDA, _PRIVATE = 1, 20  # c10::DeviceType; torch/headeronly/core/DeviceType.h
_DEVICE_TYPES: Final = 22
_REGISTRY: Final = "_ZN3c104impl26device_guard_impl_registryE"  # c10::impl::device_guard_impl_registry
_HOOKS: Final = "_ZN2at6detail12getCUDAHooksEv"  # at::detail::getCUDAHooks()
_CPU_ALLOCATOR: Final = "_ZN3c1015GetCPUAllocatorEv"  # c10::GetCPUAllocator()
_VIRTUAL: Final = re.compile(r"^\s*virtual\s[^;{]*?(~?\w+)\s*\(", re.MULTILINE)
_HIDDEN_RESULT: Final = {"x86_64", "AMD64"}
"""Machines on which a function gets the address of a result of class type as an ordinary argument."""


_C: Final[Any] = torch._C  # whose stubs lack the names that are used here

_guards: Final[list[object]] = []  # torch keeps no reference to the guard in Python


def _device_type(_guard: object) -> object:
    """Return the device type of the guard."""
    return _C._autograd.DeviceType.CUDA


def install_device_guard() -> None:
    """Make CUDA's device guard one that does nothing."""
    guard = type("Guard", (_C._acc.DeviceGuard,), {"type_": _device_type})()
    _guards.append(guard)
    try:
        registry = (ctypes.c_void_p * _DEVICE_TYPES).in_dll(_library("libc10"), _REGISTRY)
    except ValueError as error:
        raise UnsupportedTorch(f"torch {torch.__version__} lacks the symbol {_REGISTRY}") from error
    private = registry[_PRIVATE]
    _C._acc.register_python_privateuseone_device_guard(guard)
    if not registry[_PRIVATE]:
        raise UnsupportedTorch(f"torch {torch.__version__}: device guards are not registered by their device type")
    registry[_CUDA] = registry[_PRIVATE]
    registry[_PRIVATE] = private


class Hooks:
    """The functions of `at::CUDAHooksInterface` that answer for the virtual device."""

    def __init__(self, generators: RandomNumbers) -> None:
        self._generators = generators
        self._default = id(generators.default) + random_numbers._HANDLE
        self._kept: list[object] = []

    def install(self) -> None:
        """Replace the table of virtual functions of torch's hooks object, until the process exits."""
        slots = _slots()
        cell = ctypes.c_void_p.from_address(self._object())
        former = cell.value
        if former is None:
            raise UnsupportedTorch(f"torch {torch.__version__}: the CUDA hooks have no table of virtual functions")
        # Two words precede the first function: the offset to the complete object, and the type. Itanium C++ ABI: 2.5.
        size = 2 + len(slots) + 1
        table = (ctypes.c_void_p * size)(*(ctypes.c_void_p * size).from_address(former - 16))
        for name, function in self._functions().items():
            if name not in slots:
                raise UnsupportedTorch(f"torch {torch.__version__}: the CUDA hooks have no function {name}")
            self._kept.append(function)
            table[2 + slots[name]] = ctypes.cast(function, ctypes.c_void_p).value
        self._kept.append(table)
        cell.value = ctypes.addressof(table) + 16

        def restore() -> None:
            cell.value = former

        atexit.register(restore)

    @staticmethod
    def _object() -> int:
        try:
            get = _library("libtorch_cpu")[_HOOKS]
        except AttributeError as error:
            raise UnsupportedTorch(f"torch {torch.__version__} lacks the symbol {_HOOKS}") from error
        get.restype = ctypes.c_void_p
        found: int = get()
        return found

    def _functions(self) -> dict[str, Any]:
        """Return C functions by the names of the virtual functions that they replace."""
        of_nothing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
        of_device = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int8)
        pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int8)
        allocator = _library("libc10")[_CPU_ALLOCATOR]
        allocator.restype = ctypes.c_void_p
        cpu_allocator: int = allocator()
        yes, zero = of_nothing(lambda *_: 1), of_nothing(lambda *_: 0)
        libraries = ("hasCuDNN", "compiledWithCuDNN", "compiledWithMIOpen", "hasMAGMA", "hasCuSOLVER", "hasCuBLASLt")
        functions: dict[str, Any] = {
            **dict.fromkeys(("isBuilt", "isAvailable", "deviceCount", "hasCUDA", "getNumGPUs"), yes),
            **dict.fromkeys(("init", "getCurrentDevice", "current_device", *libraries), zero),
            "hasPrimaryContext": of_device(lambda *_: 1),
            **dict.fromkeys(("setCurrentDevice", "exchangeDevice", "maybeExchangeDevice"), of_device(lambda *_: 0)),
            "deviceSynchronize": of_device(lambda *_: 0),
            "getPinnedMemoryAllocator": pointer(lambda *_: cpu_allocator),
            "getDefaultGenerator": pointer(lambda *_: self._default),
        }
        if platform.machine() in _HIDDEN_RESULT:
            functions["getNewGenerator"] = ctypes.CFUNCTYPE(
                ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int8
            )(_write_new_generator)
        return functions


def _write_new_generator(result: int, _hooks: int, _index: int) -> int:
    """Write a new at::Generator, a pointer that owns a reference, to the address `result`."""
    generator = random_numbers.new_generator()
    ctypes.c_uint64.from_address(result).value = random_numbers.take_handle(generator)
    return result


def _slots() -> dict[str, int]:
    """Return the positions of the virtual functions of the CUDA hooks, in the order of their declarations.

    The destructor has two entries. Itanium C++ ABI: 2.5.2.
    """
    folder = _ROOT / "include" / "ATen" / "detail"
    names: list[str] = []
    for header in ("AcceleratorHooksInterface.h", "CUDAHooksInterface.h"):
        try:
            text = (folder / header).read_text(encoding="utf-8")
        except OSError as error:
            raise UnsupportedTorch(f"torch {torch.__version__} installs no header {header}") from error
        names += [name for name in _VIRTUAL.findall(text) if name not in names]
    if not names or not names[0].startswith("~"):
        raise UnsupportedTorch(f"torch {torch.__version__}: the CUDA hooks do not begin with their destructor")
    return {name: index + 1 for index, name in enumerate(names)}


def _library(name: str) -> ctypes.CDLL:
    for path in (_ROOT / "lib").glob(f"{name}.*"):
        return ctypes.CDLL(str(path))
    raise UnsupportedTorch(f"torch {torch.__version__} has no library {name}")
