"""Kinds of descriptors: objects of bytes that the host makes of arrays, for hardware that reads arrays by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@value
class DescriptorCode(Value):
    """How a program in C makes descriptors of a kind.

    `functions` are those of the driver's interface that it calls: pairs of a name and the types of its arguments.
    `storage(name, description)` returns statements that declare what is needed, and a pointer `name` to room for the
    descriptor. `encoding(name, description, address)` returns statements that fill it for an array at an address, an
    expression; they set the `int result`, and return it where it is not 0. `expresses(description)` tells whether the
    two have a way to say it.
    """

    functions: tuple[tuple[str, str], ...]
    storage: Callable[[str, Any], Sequence[str]]  # Any: here and below, of the class that the kind names
    encoding: Callable[[str, Any, str], Sequence[str]]
    expresses: Callable[[Any], bool]


@value
class ExampleTile(Value):
    """A Tile that fits the uses of a descriptor in a kernel: sizes of an array, their PTX type, further arguments.

    `arguments` are Python, each with a comma before it: `", Layout.TMA_128B, tma_box=(64, 64)"`. `written` tells
    whether the kernel writes to the array.
    """

    sizes: tuple[int, ...]
    dtype: str
    arguments: str
    written: bool


@value
class DescriptorKind(Value):
    """A kind of descriptor: `X.descriptor(name)` in a kernel is the address of one that describes the array X.

    The entry takes it as a parameter, called like the array with `suffix` behind it: `size` bytes by value, at a
    multiple of `alignment`, or a pointer to them. A *description* is what a descriptor says of its array, but for the
    address: an immutable value of the class `described`. `describe(tile, sizes)` returns that of an array by its Tile;
    `example` is a Tile that has one, as users write it.

    `plain(description)` returns a description as an object of JSON, for the records of bundles, and `restore(field)`
    returns it from there: from a `pyptx_dsl.bundles.fields.Field`, of which nothing is believed.

    `array_alignment(description)` is what the address of the array must be a multiple of. `code` is how programs in C
    make such descriptors, None where they have no way to. `fitting(kernel, parameter)` returns an ExampleTile for a
    parameter of a kernel, a `Function`, by the instructions that use it; None if they do not show one.
    """

    name: str
    described: type
    size: int
    alignment: int
    suffix: str
    example: str
    describe: Callable[[Any, Mapping[str, int]], object]  # Any: Tile of pyptx_dsl, which the core lacks
    plain: Callable[[Any], Mapping[str, object]]
    restore: Callable[[Any], object]  # Any: Field of pyptx_dsl
    array_alignment: Callable[[Any], int]
    code: DescriptorCode | None = None
    fitting: Callable[[Any, str], ExampleTile | None] | None = None  # Any: Function, which is heavy to import

    @property
    def title(self) -> str:
        """The name in prose."""
        return self.name.replace("_", " ")
