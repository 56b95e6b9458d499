"""Errors of pyptx-virtual.

PyptxError
└── VirtualDeviceError
    ├── ActivationError         the virtual device cannot be activated in this process
    │   ├── AlreadyActive       a virtual device with other options is active
    │   ├── RealGpuPresent      the machine has a GPU
    │   └── UnsupportedTorch    this build of torch lacks a part that the torch door needs
    ├── ProgramNotFound         the command line names no Python program
    ├── NotActive               no virtual device is active
    └── UnknownStream           the virtual device has no stream with this handle
"""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class VirtualDeviceError(PyptxError):
    """Base of every error of pyptx-virtual."""


class ActivationError(VirtualDeviceError):
    """The virtual device cannot be activated in this process."""


class AlreadyActive(ActivationError):  # noqa: N818 - reads as a state
    """A virtual device with other options is active in this process."""


class RealGpuPresent(ActivationError):  # noqa: N818 - reads as a state
    """The machine has a GPU, and the caller has not asked to shadow it."""


class UnsupportedTorch(ActivationError):  # noqa: N818 - reads as a state
    """A part that the torch door needs is not in this build of torch."""


class ProgramNotFound(VirtualDeviceError):  # noqa: N818 - reads as a state
    """The command line names no Python program."""


class NotActive(VirtualDeviceError):  # noqa: N818 - reads as a state
    """No virtual device is active in this process."""


class UnknownStream(VirtualDeviceError):  # noqa: N818 - reads as a state
    """The virtual device has no stream with this handle."""
