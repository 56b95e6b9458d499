"""Exceptions of launches.

::

    LaunchError                invalid plan, module or launch; the message states the reason
    ├── DriverMissingError     no driver, or a driver that is too old
    ├── DriverError            error of a driver function: the CUresult's name and meaning, and a help text
    │   └── CompileError       the driver's PTX compiler failed; `log` is its output
    └── TensorMapError         the tensor map violates a rule (also a ValueError)
"""

from __future__ import annotations

from pyptx_launch.hints import HINTS


class LaunchError(RuntimeError):
    """Failure to launch a kernel or to prepare a launch."""


class DriverMissingError(LaunchError):
    """No usable CUDA driver."""


class DriverError(LaunchError):
    """Error of the driver: CUresult `name` and `code`, the driver's description `meaning`, and our `help`."""

    def __init__(self, message: str, *, name: str, code: int, meaning: str) -> None:
        self.name = name
        self.code = code
        self.meaning = meaning
        self.help = HINTS.get(name)
        super().__init__(message if self.help is None else f"{message}\nhelp: {self.help}")


class CompileError(DriverError):
    """The driver's PTX compiler failed; `log` contains its messages by PTX line."""

    def __init__(self, message: str, *, name: str, code: int, meaning: str, log: str) -> None:
        self.log = log
        super().__init__(f"{message}\n{log.rstrip()}", name=name, code=code, meaning=meaning)


class TensorMapError(LaunchError, ValueError):
    """A tensor map violates a hardware rule; `rule` is the rule's name in the table in tensor_map_rules.py."""

    def __init__(self, message: str, *, rule: str = "address") -> None:
        self.rule = rule
        super().__init__(message)


def of(kind: str, message: str, name: str, code: int, meaning: str, log: str) -> LaunchError:
    """Return the exception for a failure in the native extension, which calls this function by name."""
    match kind:
        case "DriverMissingError" if "\nhelp: " in message:
            return DriverMissingError(message)
        case "DriverMissingError":
            help = HINTS.get(name) or (
                "install NVIDIA's driver (580 or newer runs CUDA 13), or set PYPTX_LIBCUDA to its libcuda.so"
            )
            return DriverMissingError(f"{message}\nhelp: {help}")
        case "DriverError":
            return DriverError(message, name=name, code=code, meaning=meaning)
        case "CompileError":
            return CompileError(message, name=name, code=code, meaning=meaning, log=log)
        case "TensorMapError":
            return TensorMapError(message)
        case _:
            return LaunchError(message)
