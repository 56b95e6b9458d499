"""Attachment of torch's device `cuda:0` to the virtual device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from pyptx_virtual.errors import UnsupportedTorch
from pyptx_virtual.torch.native import Hooks, install_device_guard
from pyptx_virtual.torch.operators import Operators
from pyptx_virtual.torch.overrides import Overrides
from pyptx_virtual.torch.pinning import Pinning
from pyptx_virtual.torch.random_numbers import RandomNumbers
from pyptx_virtual.torch.storages import Storages

if TYPE_CHECKING:
    from pyptx_virtual.device import VirtualDevice


def attach(device: VirtualDevice) -> None:
    """Make `cuda:0` of torch the virtual device. Raise UnsupportedTorch if this build of torch lacks a needed part."""
    from pyptx_virtual.torch.bindings import Bindings

    random_numbers, pinning, storages = RandomNumbers(), Pinning(), Storages(device)
    install_device_guard()
    Hooks(random_numbers, pinning).install()
    Operators(storages, random_numbers, Overrides(storages), device.context.synchronize).register()
    pinning.register()
    Bindings(device, random_numbers).install()
    _check()


def _check() -> None:
    """Verify that a tensor on the device computes."""
    found = torch.arange(3, device="cuda").add(1)
    if found.device != torch.device("cuda", 0) or found.cpu().tolist() != [1, 2, 3]:
        raise UnsupportedTorch(f"torch {torch.__version__}: a CUDA tensor does not compute on the virtual device")
