"""Kinds of descriptors: byte objects that the host encodes, and that hardware uses to access arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@value
class DescriptorCode(Value):
    """C code that encodes descriptors of a kind.

    `functions` are the driver API functions that it calls: pairs of a name and the argument types. `storage(name,
    description)` returns statements that declare storage for the descriptor and a pointer `name` to it. `encoding(name,
    description, address)` returns statements that encode it for an array at the expression `address`. They set `int
    result` and return it if nonzero. `expresses(description)`: whether `storage` and `encoding` support it.
    """

    functions: tuple[tuple[str, str], ...]
    storage: Callable[[str, Any], Sequence[str]]  # Any: an instance of `DescriptorKind.described`, here and below
    encoding: Callable[[str, Any, str], Sequence[str]]
    expresses: Callable[[Any], bool]


@value
class ExampleTile(Value):
    """A Tile that fits the uses of a descriptor in a kernel: array sizes, PTX type, further arguments.

    `arguments` is Python source, each argument after a comma: `", Layout.TMA_128B, tma_box=(64, 64)"`. `written` is
    whether the kernel writes the array.
    """

    sizes: tuple[int, ...]
    dtype: str
    arguments: str
    written: bool


@value
class DescriptorKind(Value):
    """Kind of descriptor: `X.descriptor(name)` in a kernel is the address of the descriptor of array X.

    The entry has a parameter for it, named like the array plus `suffix`: `size` bytes by value, aligned to `alignment`,
    or a pointer to them. A *description* contains the properties of the array except its address: an immutable value of
    class `described`. `describe(tile, sizes)` returns the description of an array from its Tile. `example` is the
    source of a Tile with a description.

    `plain(description)` returns a description as a JSON object, for the records of bundles. `restore(field)` parses and
    validates it from a `pyptx_dsl.json_fields.Field`. `array_alignment(description)` is the required alignment of
    the array's address. `code` generates C code for such descriptors, None if unsupported. `fitting(kernel, parameter)`
    returns an ExampleTile for a parameter of a kernel, a `Function`, from the instructions that use it; None if they do
    not determine one.
    """

    name: str
    described: type
    size: int
    alignment: int
    suffix: str
    example: str
    describe: Callable[[Any, Mapping[str, int]], object]  # Any: a `pyptx_dsl` `Tile`
    plain: Callable[[Any], Mapping[str, object]]
    restore: Callable[[Any], object]  # Any: a `Field` of pyptx_dsl
    array_alignment: Callable[[Any], int]
    code: DescriptorCode | None = None
    fitting: Callable[[Any, str], ExampleTile | None] | None = None  # Any: a `Function` node

    @property
    def title(self) -> str:
        """Name of the kind with spaces, for messages."""
        return self.name.replace("_", " ")
