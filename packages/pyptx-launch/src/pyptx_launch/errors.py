"""What can go wrong at a launch.

::

    LaunchError                what a plan, a module or a launch cannot be; the message says why
    ├── DriverMissingError     no driver, or one that is too old
    ├── DriverError            the driver refused: its name for it, its meaning, and what to do
    │   └── CompileError       the driver's compiler refused the PTX; `log` is what it said
    └── TensorMapError         a rule of tensor maps is broken (also a ValueError)
"""

from __future__ import annotations

from pyptx_launch.hints import HINTS


class LaunchError(RuntimeError):
    """A kernel could not be launched, or prepared for it."""


class DriverMissingError(LaunchError):
    """There is no CUDA driver that could be used."""


class DriverError(LaunchError):
    """The driver refused; `name` is its name for the error, `code` the number, `meaning` its words, `hint` ours."""

    def __init__(self, message: str, *, name: str, code: int, meaning: str) -> None:
        self.name = name
        self.code = code
        self.meaning = meaning
        self.hint = HINTS.get(name)
        super().__init__(message if self.hint is None else f"{message}\nhint: {self.hint}")


class CompileError(DriverError):
    """The driver's compiler refused the PTX; `log` holds its complaints, by line of the PTX."""

    def __init__(self, message: str, *, name: str, code: int, meaning: str, log: str) -> None:
        self.log = log
        super().__init__(f"{message}\n{log.rstrip()}", name=name, code=code, meaning=meaning)


class TensorMapError(LaunchError, ValueError):
    """A tensor map breaks a rule of the hardware; `rule` is the rule's name in the table of tensor_map_rules.py."""

    def __init__(self, message: str, *, rule: str = "address") -> None:
        self.rule = rule
        super().__init__(message)


def of(kind: str, message: str, name: str, code: int, meaning: str, log: str) -> LaunchError:
    """Return the exception for a failure in the compiled part, which calls this by name."""
    match kind:
        case "DriverMissingError" if "\nhint: " in message:
            return DriverMissingError(message)
        case "DriverMissingError":
            hint = HINTS.get(name) or (
                "install NVIDIA's driver (580 or newer runs CUDA 13), or name its libcuda.so in PYPTX_LIBCUDA"
            )
            return DriverMissingError(f"{message}\nhint: {hint}")
        case "DriverError":
            return DriverError(message, name=name, code=code, meaning=meaning)
        case "CompileError":
            return CompileError(message, name=name, code=code, meaning=meaning, log=log)
        case "TensorMapError":
            return TensorMapError(message)
        case _:
            return LaunchError(message)
