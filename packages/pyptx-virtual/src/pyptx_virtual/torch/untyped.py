"""`torch.UntypedStorage` in device memory.

Its constructor is C++, and uses the allocator of the CUDA runtime. `torch.load`, `copy.deepcopy` and `pickle` call
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from pyptx_virtual.torch.mixing import check_device

if TYPE_CHECKING:
    from pyptx_virtual.torch.storages import Storages


def install_storages(storages: Storages) -> None:
    """Extend the class `torch.UntypedStorage`: storages on device `cuda` are in device memory."""
    former: Any = torch.UntypedStorage
    new, resize = former.__new__, former.resize_

    def new_storage(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:  # noqa: ANN401 - torch's signature
        if device is None or torch.device(device).type != "cuda":
            return new(cls, *args, device=device, **kwargs)
        check_device(torch.device(device))
        content = args[0] if args else kwargs.get("size", 0)
        if isinstance(content, int):
            return storages.empty((content,), (1,), torch.uint8).untyped_storage()
        return storages.upload(torch.tensor(list(content), dtype=torch.uint8, device="cpu")).untyped_storage()

    def resize_storage(self: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
        if self.device.type != "cuda":
            resized: torch.UntypedStorage = resize(self, size)
            return resized
        if size != self.nbytes():
            raise RuntimeError("torch.UntypedStorage.resize_ is not available for device memory of the virtual GPU")
        return self

    def share(*_: object) -> object:
        raise RuntimeError("device memory of the virtual GPU cannot be shared with other processes")

    former._share_cuda_ = share
    former.__new__ = staticmethod(new_storage)
    former.resize_ = resize_storage
