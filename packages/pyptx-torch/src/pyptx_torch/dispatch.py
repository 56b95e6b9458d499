"""Functions that torch's dispatcher calls for a kernel's operator, by dispatch key.

| key | function |
|---|---|
| CPU | `cpu.run`: the simulator |
| CUDA | `cuda.run`: a launch on the current stream |
| BackendSelect | one of these two by `device=`, for a call without tensors |
| Meta, and fake tensors | `fake.outputs_of` |
| Autograd | `gradients.forward`: a plain kernel has no gradient; the backward pass raises |
| ADInplaceOrView | a new version of each tensor that the kernel writes to |
| FuncTorchBatched | `batching.run`: vmap |
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch

from pyptx_torch import batching, cpu, cuda, fake, gradients, outputs
from pyptx_torch.internals import below_versions, new_library, register_fake
from pyptx_torch.namespace import NAME
from pyptx_torch.versions import count_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_torch.internals import Keys, Library, Overload
    from pyptx_torch.operators import Operator

TAGS = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides)
RUNNERS = {"cpu": cpu.run, "cuda": cuda.run}


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Dispatcher functions of one overload; they reference the `Operator` weakly, because torch keeps the functions."""

    reference: weakref.ReferenceType[Operator]
    overload: str

    @property
    def operator(self) -> Operator:
        """Operator of the overload, which is alive while its overload is called."""
        alive = self.reference()
        assert alive is not None  # noqa: S101  torch calls registered functions only through the overload
        return alive

    def run(self, *arguments: torch.Tensor, **keywords: object) -> object:
        """Run the kernel on the device of its tensors, or on `device=`."""
        operator = self.operator
        inputs, given = self._split(arguments)
        own = {**operator.read(keywords), **operator.numbers(keywords)}
        device = self._device(arguments, keywords)
        made = RUNNERS[device.type](operator, inputs, own, given, device)
        return self._returned(made)

    def fake(self, *arguments: torch.Tensor, **keywords: object) -> object:
        """Return meta or fake tensors with the outputs' shapes and types, without running the kernel."""
        operator = self.operator
        inputs, given = self._split(arguments)
        rows = fake.outputs_of(operator.kernel.declaration, inputs, operator.read(keywords), operator.numbers(keywords))
        device = self._device(arguments, keywords)
        if given is None:
            return self._returned(outputs.allocate(operator.kernel.name, rows, device))
        outputs.check(operator.kernel.name, rows, given, device)
        return None

    def select(self, *arguments: torch.Tensor, **keywords: object) -> object:
        """Run a kernel without tensors on `device=`."""
        on_meta = self._device(arguments, keywords).type == "meta"
        return self.fake(*arguments, **keywords) if on_meta else self.run(*arguments, **keywords)

    def autograd(self, keys: Keys, *arguments: torch.Tensor, **keywords: object) -> object:
        """Run the kernel below autograd, and record a node whose backward raises GradientError."""
        call = gradients.Call(self._overload(), keys, keywords, self.operator.kernel.name)
        return gradients.forward(call, arguments)

    def batched(self, _keys: Keys, *arguments: torch.Tensor, **keywords: object) -> object:
        """Run the kernel once per example of the innermost vmap."""
        return batching.run(self.operator, self._overload(), arguments, keywords)

    def versions(self, keys: Keys, *arguments: torch.Tensor, **keywords: object) -> object:
        """Increment the version of tensors that the kernel writes, so that autograd detects changes."""
        inputs, given = self._split(arguments)
        for tensor in (*(inputs[index] for index in self.operator.signature.mutated), *(given or ())):
            count_version(tensor)
        return below_versions(self._overload(), keys, arguments, keywords)

    def _overload(self) -> Overload:
        operator = self.operator
        return cast("Overload", operator.into if self.overload else operator.default)

    def _split(self, arguments: Sequence[torch.Tensor]) -> tuple[Sequence[torch.Tensor], Sequence[torch.Tensor] | None]:
        """Return the inputs, and the outputs passed to the `out` overload (None for the default overload)."""
        count = len(self.operator.signature.inputs)
        return arguments[:count], arguments[count:] if self.overload else None

    def _device(self, arguments: Sequence[torch.Tensor], keywords: dict[str, object]) -> torch.device:
        if arguments:
            return arguments[0].device
        given = cast("torch.device | None", keywords.get(self.operator.signature.device))
        return torch.get_default_device() if given is None else given

    def _returned(self, made: tuple[torch.Tensor, ...]) -> object:
        if self.overload or not made:
            return None
        return made[0] if len(made) == 1 else made


def define(operator: Operator) -> Library:
    """Define a kernel's torch operator with all overloads, which exist until the torch library is destroyed."""
    library = new_library(NAME)
    signature = operator.signature
    _define(library, operator, "", signature.schema(operator.name))
    if signature.outputs:
        _define(library, operator, ".out", signature.out_schema(operator.name))
    return library


def _define(library: Library, operator: Operator, overload: str, schema: str) -> None:
    name, signature = operator.name + overload, operator.signature
    functions = Dispatch(weakref.ref(operator), overload)
    library.define(schema, tags=TAGS)
    register_fake(library, name, functions.fake)
    plain: list[tuple[str, Callable[..., object]]] = [("CPU", functions.run), ("CUDA", functions.run)]
    keyed: list[tuple[str, Callable[..., object]]] = [
        ("Autograd", functions.autograd),
        ("FuncTorchBatched", functions.batched),
    ]
    if overload or signature.mutated:
        keyed.append(("ADInplaceOrView", functions.versions))
    if not signature.inputs and not overload:
        plain.append(("BackendSelect", functions.select))
    for key, function in plain:
        library.impl(name, function, key)
    for key, function in keyed:
        library.impl(name, function, key, with_keyset=True)
