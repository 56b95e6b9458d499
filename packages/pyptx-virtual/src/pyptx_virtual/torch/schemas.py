"""Facts about torch's operators that do not depend on a call, read once per operator from torch's own tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import torch
from torch._ops import OpOverload

Overload: TypeAlias = OpOverload[..., object]
Place: TypeAlias = int | str
"""Position of an argument, or the name of a keyword-only argument."""

_HAS_KERNEL: Final = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - no public spelling
COMPOSITE: Final = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
NAMESPACES: Final = ("aten", "prims", "quantized", "torchvision", "torchaudio")
"""Operators of torch itself, and of the libraries whose CUDA builds compute the same as their CPU builds."""

# Operators that accept CPU tensors of any shape with CUDA tensors. PyTorch: "CUDA semantics"; aten/src/ATen/native.
_ANY_DEVICE: Final = frozenset({
    *("aten::copy_", "aten::_to_copy", "aten::_copy_from", "aten::_copy_from_and_resize", "aten::copy", "aten::set_"),
    *("aten::index", "aten::_unsafe_index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"),
    *("aten::_unsafe_index_put", "aten::_pack_padded_sequence", "aten::_foreach_copy_", "aten::_foreach_copy"),
    *("aten::_ctc_loss", "aten::_ctc_loss_backward", "aten::resize_as_", "aten::record_stream"),
})  # fmt: skip


class Mixing(Enum):
    """CPU tensors that an operator accepts with CUDA tensors."""

    NONE = auto()
    SCALARS = auto()
    """Tensors without dimensions."""
    ALL = auto()


@dataclass(frozen=True, slots=True)
class Schema:
    """Facts about one operator.

    `returns` has, per return value, the place of the argument that is returned, None for a new value. `written` are the
    places of written arguments, `outputs` the places of arguments that may also be resized. `device` is the place of
    the argument that chooses the device of the results.
    """

    overload: Overload
    returns: tuple[Place | None, ...]
    written: tuple[Place, ...]
    outputs: tuple[str, ...]
    device: Place | None
    mixing: Mixing
    is_view: bool
    is_random: bool
    has_kernel: bool


def schema_of(overload: Overload) -> Schema:
    """Return the facts about an operator."""
    schema = overload._schema  # noqa: SLF001 - no public spelling
    places = {argument.name: _place(index, argument) for index, argument in enumerate(schema.arguments)}
    aliases = {
        next(iter(argument.alias_info.before_set)): places[argument.name]
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.before_set
    }
    written = tuple(places[each.name] for each in schema.arguments if each.alias_info and each.alias_info.is_write)
    return Schema(
        overload,
        tuple(_returned(each, aliases) for each in schema.returns),
        written,
        tuple(place for place in written if isinstance(place, str)),
        places.get("device"),
        _mixing(schema.name),
        is_view(overload),
        "generator" in places or torch.Tag.nondeterministic_seeded in overload.tags,
        any(_HAS_KERNEL(qualified_name(overload), key) for key in ("CPU", *COMPOSITE, "CompositeImplicitAutograd")),
    )


def is_view(overload: Overload) -> bool:
    """Return whether the operator only changes shapes, strides or storages, and computes no elements."""
    arguments = overload._schema.arguments  # noqa: SLF001 - no public spelling
    aliased = any(each.alias_info is not None and not each.alias_info.is_write for each in arguments)
    return aliased or torch.Tag.inplace_view in overload.tags


def computes(overload: Overload) -> bool:
    """Return whether the operator computes elements, and neither views, allocates nor resizes only."""
    name = overload._schema.name.partition("::")[2]  # noqa: SLF001 - no public spelling
    return not is_view(overload) and not any(word in name for word in ("empty", "resize"))


def overload_of(name: str) -> Overload | None:
    """Return the operator with a qualified name such as `aten::add.Tensor`; None if torch.ops does not offer it."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    return getattr(packet, overload or "default", None)


def has_kernel(name: str, *keys: str) -> bool:
    """Return whether an operator has a kernel for one of the dispatch keys."""
    return any(_HAS_KERNEL(name, key) for key in keys)


def qualified_name(overload: Overload) -> str:
    """Return the name of an operator as in schemas, such as `aten::add.Tensor`."""
    name, variant = overload._schema.name, overload._schema.overload_name  # noqa: SLF001 - no public spelling
    return f"{name}.{variant}" if variant else name


def _place(index: int, argument: torch._C.Argument) -> Place:
    return argument.name if argument.kwarg_only else index


def _returned(value: torch._C.Argument, aliases: dict[str, Place]) -> Place | None:
    if value.alias_info is None or not value.alias_info.is_write:
        return None
    return aliases.get(next(iter(value.alias_info.before_set)))


def _mixing(name: str) -> Mixing:
    if name in _ANY_DEVICE:
        return Mixing.ALL
    return Mixing.SCALARS if name in _unchecked() else Mixing.NONE


@cache
def _unchecked() -> frozenset[str]:
    """Return the operators whose devices are checked by TensorIterator, which accepts CPU tensors without dimensions.

    torch installs the table of its operators, `native_functions.yaml`: these have `device_check: NoCheck`.
    """
    import torchgen  # type: ignore[import-untyped] # torch installs it without types

    table = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = table.read_text(encoding="utf-8").split("\n- func: ")
    return frozenset(
        f"aten::{re.split(r'[.(]', entry, maxsplit=1)[0]}" for entry in entries if "\n  device_check: NoCheck" in entry
    )
