"""Launches of kernels that Triton compiled, on the virtual device."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from pyptx_sim.readers import from_triton

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_sim.readers.triton import CompiledKernel
    from pyptx_virtual.device import VirtualDevice


@dataclass(frozen=True, slots=True)
class Launcher:
    """Function that Triton calls for each launch of one compiled kernel.

    `signature` has the types of its parameters, see `signature_of`; `metadata` is Triton's.
    """

    device: VirtualDevice
    signature: Mapping[str, object]
    metadata: Any

    def __call__(  # the signature of Triton's CudaLauncher
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        ptx: str,
        *given: Any,  # noqa: ANN401 - arguments of any type
    ) -> None:
        """Launch the kernel on a grid of x * y * z programs, on the stream with handle `stream`.

        `given` are packed metadata, launch metadata, two hooks (None, or functions of the launch metadata), and the
        values of the kernel's parameters.
        """
        _, described, enter, leave, *values = given
        if 0 in (x, y, z):
            return
        source = SimpleNamespace(signature=self.signature)
        kernel: object = SimpleNamespace(asm={"ptx": ptx}, metadata=self.metadata, src=source)
        launch = from_triton(cast("CompiledKernel", kernel), (x, y, z), list(self._arguments(values)))
        on = self.device.streams.find(stream)
        if enter is not None:
            enter(described)
        self.device.context.launch(ptx, launch, stream=on)
        if leave is not None:
            leave(described)

    def _arguments(self, values: Sequence[object]) -> Iterator[object]:
        """Yield the values of the parameters that the compiled kernel has: all but constants.

        Triton 3.2 passes no declared constants, later releases pass all parameters; their launchers accept calls
        without the last constants.
        """
        kinds = list(self.signature.values())
        if set(kinds[len(values) :]) - {"constexpr"}:
            kinds = [kind for kind in kinds if kind != "constexpr"]
        for kind, value in zip(kinds, values, strict=len(values) > len(kinds)):
            if kind != "constexpr":
                yield self._argument(kind, value)

    def _argument(self, kind: object, value: Any) -> object:  # noqa: ANN401 - arguments of any type
        """Return a value as the simulator reads it: tensors on the CPU, over the same bytes."""
        if isinstance(kind, tuple):
            return tuple(map(self._argument, cast("tuple[object, ...]", kind), value))
        if hasattr(value, "block_shape"):
            fields = ("shape", "strides", "block_shape", "padding", "round_f32_to_tf32")
            known = {name: getattr(value, name) for name in fields if hasattr(value, name)}
            return SimpleNamespace(base=self.device.host_view(value.base), **known)
        if _is_tensor(value):
            return self.device.host_view(value)
        return int(value.data_ptr()) if hasattr(value, "data_ptr") else value  # such as triton.reinterpret's result


def signature_of(source: Any) -> dict[str, object]:  # noqa: ANN401 - Triton's ASTSource or IRSource
    """Return the types of a kernel's parameters by name: `constexpr` for all that the compiled kernel does not have.

    Triton 3.2 lists an argument that is 1 or None with its type, and names it in `constants`, since it specializes the
    kernel for it. Later releases list it as `constexpr`.
    """
    folded = getattr(source, "constants", None) or ()
    return {name: "constexpr" if name in folded else kind for name, kind in source.signature.items()}


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
