"""Attachment of torch's device `cuda:0` to the virtual device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pyptx_virtual.errors import UnsupportedTorch
from pyptx_virtual.torch.bindings import Bindings
from pyptx_virtual.torch.graphs import Recorder
from pyptx_virtual.torch.inductor import install_inductor
from pyptx_virtual.torch.native import Hooks, install_device_guard
from pyptx_virtual.torch.operators import Operators
from pyptx_virtual.torch.overrides import Overrides
from pyptx_virtual.torch.pinning import Pinning
from pyptx_virtual.torch.random_numbers import RandomNumbers
from pyptx_virtual.torch.storages import Storages
from pyptx_virtual.torch.untyped import install_storages

if TYPE_CHECKING:
    from pyptx_virtual.device import VirtualDevice


@dataclass(frozen=True, slots=True)
class TorchDoor:
    """The parts that torch calls; they must exist until the process exits."""

    hooks: Hooks
    operators: Operators
    pinning: Pinning
    bindings: Bindings


def attach(device: VirtualDevice) -> TorchDoor:
    """Make `cuda:0` of torch the virtual device; the caller keeps the result until the process exits.

    Raise UnsupportedTorch if this build of torch lacks a needed part.
    """
    random_numbers, storages = RandomNumbers(), Storages(device)
    recorder = Recorder(device, storages)
    operators = Operators(storages, random_numbers, Overrides(storages), recorder, device.context.synchronize)
    door = TorchDoor(Hooks(random_numbers), operators, Pinning(), Bindings(device, random_numbers))
    install_device_guard()
    door.hooks.install()
    door.operators.register()
    door.pinning.register()
    door.bindings.install()
    device.host_view = storages.view_on_host
    install_storages(storages)
    install_inductor()
    _check()
    return door


def _check() -> None:
    """Verify that a tensor on the device computes."""
    found = torch.arange(3, device="cuda").add(1)
    if found.device != torch.device("cuda", 0) or not found.cpu().equal(torch.tensor([1, 2, 3])):
        raise UnsupportedTorch(f"torch {torch.__version__}: a CUDA tensor does not compute on the virtual device")
