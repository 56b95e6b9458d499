"""Validation of the arguments of `@kernel(…)`, once, when the decorator runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

from pyptx_dsl.contract.launch import Dims, check_block, check_cluster, check_grid, size_parameters, three
from pyptx_dsl.contract.launch_attributes import encode_attributes
from pyptx_dsl.contract.parameters import RawParameter, parse_raw_parameters
from pyptx_dsl.contract.scalars import Scalar
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import ArchError, LaunchError, SharedMemoryError, SignatureError, SpecError
from pyptx_dsl.kernels.arch import detect_arch, product_hint
from pyptx_dsl.registers.operands import as_count, as_integer, as_items
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.isa.targets import default_version
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax.nodes import HeaderDirective
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.isa.target_rows import TargetRow

EXTERN_SYMBOL = "global_smem"
_UNSET_BLOCK = (1, 1, 1)


@dataclass(frozen=True, slots=True)
class Options:
    """Unchecked arguments of `@kernel`; documented at `pyptx_dsl.kernels.decorator.kernel`."""

    arch: str
    version: object
    in_specs: object
    out_specs: object
    grid: object
    block: object
    cluster: object
    smem: int
    raw_params: Sequence[tuple[str, str]] | None
    extern_smem: bool | str
    reqntid: Sequence[int] | None
    raw_directives: Sequence[tuple[str, Sequence[object]]] | None
    lineinfo: bool
    tma_slots: str
    mutates: object = ()
    launch: object = None
    persistent: object = 0


@dataclass(frozen=True)
class Declaration:
    """Declaration of a kernel: everything that does not depend on shapes or template values.

    Derived properties are computed once, because every call uses them.

    `templates` holds the template parameters' defaults; those in `required` have none. `mutated`: indices of the inputs
    that the kernel writes; `attributes`: launch attributes; `persistent`: maximum CTAs per SM, 0 for the whole grid.
    `scalars`: position and name of each parameter in `raw` that a call passes by position.
    """

    name: str
    function: Callable[..., object]
    target: TargetRow
    version: tuple[int, int]
    in_specs: tuple[Tile, ...]
    out_specs: tuple[Tile, ...]
    tensors: tuple[str, ...]
    templates: Mapping[str, object]
    required: tuple[str, ...]
    raw: tuple[RawParameter, ...]
    grid: Dims | Callable[..., object]
    block: Dims | Callable[..., object]
    cluster: Dims
    shared_bytes: int
    extern_symbol: str | None
    directives: tuple[HeaderDirective, ...]
    lineinfo: bool
    tma_slots: str
    mutated: tuple[int, ...]
    attributes: tuple[tuple[int, bytes], ...]
    persistent: int
    scalars: tuple[tuple[int, str], ...] = ()

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """Tiles of the input arrays, then of the output arrays."""
        return (*self.in_specs, *self.out_specs)

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the tiles' named dimensions, in order of first appearance."""
        return _dimensions(self.tiles)

    @cached_property
    def grid_arguments(self) -> tuple[int, tuple[str, ...]]:
        """Number of dimensions passed to the grid function by position, and its keywords; (0, ()) for fixed sizes."""
        return self._arguments_of("grid", self.grid)

    @cached_property
    def block_arguments(self) -> tuple[int, tuple[str, ...]]:
        """Number of dimensions passed to the block function by position, and its keywords; (0, ()) for fixed sizes."""
        return self._arguments_of("block", self.block)

    def _arguments_of(self, what: str, sizes: Dims | Callable[..., object]) -> tuple[int, tuple[str, ...]]:
        return size_parameters(what, sizes, self.dimensions, tuple(self.templates)) if callable(sizes) else (0, ())

    @cached_property
    def keywords(self) -> frozenset[str]:
        """Valid keywords of a call: dimensions, template values, `raw_params` entries."""
        return frozenset([*self.dimensions, *self.templates, *(row.name for row in self.raw)])


def _dimensions(tiles: Sequence[Tile]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for tile in tiles for name in tile.symbolic_dims))


@dataclass(frozen=True, slots=True)
class Signature:
    """Arrays (inputs first) and template parameters of a kernel's function; `required`: those without a default."""

    name: str
    tensors: tuple[str, ...]
    templates: Mapping[str, object]
    required: tuple[str, ...]


def declare(function: Callable[..., object], options: Options) -> Declaration:
    """Check the decorator's arguments against the function and the target; raise a KernelError for the first error."""
    return declaration_of(function, signature_of(function), options)


def declaration_of(function: Callable[..., object], signature: Signature, options: Options) -> Declaration:
    """Check the decorator's arguments against the kernel's parameters, like `declare`."""
    target = _target(options.arch)
    name, tensors = signature.name, signature.tensors
    inputs, out_specs = _inputs(options.in_specs), _tiles("out_specs", options.out_specs)
    if options.in_specs is not None or options.out_specs is not None:
        _check_count(signature, len(inputs), len(out_specs))
    scalars = tuple((place, tensors[place]) for place, each in enumerate(inputs) if isinstance(each, Scalar))
    in_specs = tuple(each for each in inputs if isinstance(each, Tile))
    raw = _parameters(inputs, tensors, options)
    tensors = tuple(each for each in tensors if each not in dict(scalars).values())
    _unique(name, [*tensors, *(parameter.name for parameter in raw)])
    dimensions, templates = _dimensions((*in_specs, *out_specs)), tuple(signature.templates)
    block = _block(options, dimensions, templates, target)
    cluster, persistent = three("cluster", options.cluster), _persistent(options.persistent)
    check_cluster(cluster, target)
    _check_switches(options)
    return Declaration(
        name=name,
        function=function,
        target=target,
        version=_version(options.version, target),
        in_specs=in_specs,
        out_specs=out_specs,
        tensors=tensors,
        templates=signature.templates,
        required=signature.required,
        raw=raw,
        grid=_grid(options.grid, cluster, dimensions, templates, persistent),
        block=block,
        cluster=cluster,
        shared_bytes=_shared_bytes(options.smem, target),
        extern_symbol=_extern_symbol(options.extern_smem),
        directives=_directives(options),
        lineinfo=options.lineinfo,
        tma_slots=options.tma_slots,
        mutated=_mutated(name, tensors[: len(tensors) - len(out_specs)], options.mutates, writes=bool(out_specs)),
        attributes=encode_attributes(options.launch, target),
        persistent=persistent,
        scalars=scalars,
    )


def _check_count(signature: Signature, inputs: int, outputs: int) -> None:
    """Raise SignatureError unless there is one Tile or Scalar for each positional parameter."""
    names = signature.tensors
    if len(names) != inputs + outputs:
        raise SignatureError(
            f"kernel {signature.name!r} has {len(names)} positional parameters "
            f"({', '.join(names) or 'none'}), but {inputs} in_specs + {outputs} out_specs",
            help="write one parameter per array, inputs first, with Scalar(f32) in in_specs for a number; "
            "template parameters follow a *",
        )


def _mutated(kernel: str, inputs: Sequence[str], mutates: object, *, writes: bool) -> tuple[int, ...]:
    """Return the indices of the inputs that the kernel writes: those in `mutates`, or all if it has no outputs."""
    named = [mutates] if isinstance(mutates, str) else as_items(mutates)
    if named is None:
        raise SpecError(f"mutates must be a list of names, got {mutates!r}", help='write mutates=("X",)')
    for name in named:
        if name not in inputs:
            raise SpecError(
                f"kernel {kernel!r}: {name!r} in mutates is not an input", help=f"inputs: {', '.join(inputs)}"
            )
    return tuple(index for index, name in enumerate(inputs) if name in named or not (named or writes))


def _check_switches(options: Options) -> None:
    """Raise SpecError unless `lineinfo` is a bool and `tma_slots` is `"value"` or `"pointer"`."""
    if not isinstance(cast("object", options.lineinfo), bool):
        raise SpecError(f"lineinfo={options.lineinfo!r}", help="pass True to emit .file and .loc, False to omit them")
    if options.tma_slots not in {"value", "pointer"}:
        raise SpecError(f"tma_slots={options.tma_slots!r}", help='use "value" (by value) or "pointer" (ld.param.u64)')


def _target(arch: str) -> TargetRow:
    if arch == "auto":
        arch = detect_arch()
    if not isinstance(cast("object", arch), str):
        raise ArchError(f"arch must be a target, got {arch!r}", help='write arch="sm_90a", or "auto" for this GPU')
    try:
        return find_target(arch)
    except TargetError as error:
        raise ArchError(error.message, help=product_hint(arch) or error.help) from None


def _version(version: object, target: TargetRow) -> tuple[int, int]:
    if version is None:
        return default_version(target)
    parts = [as_integer(part) for part in as_items(version) or ()]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise ArchError(f"version must be a PTX version, got {version!r}", help="pass a pair: version=(8, 5)")
    major, minor = parts[0], parts[1]
    if (major, minor) < target.since:
        since = ".".join(map(str, target.since))
        raise ArchError(
            f"version=({major}, {minor}) is too old: {target.name} requires PTX {since}",
            help="leave version out to use a version that supports the target",
        )
    return major, minor


def signature_of(function: Callable[..., object]) -> Signature:
    """Return the signature of a kernel's function; keyword-only parameters are template parameters, others arrays."""
    name = getattr(function, "__name__", "")
    if not (name.isidentifier() and name.isascii()):
        raise SignatureError(f"invalid entry name {name!r}", help="decorate a def with an ASCII name")
    import inspect

    if not inspect.isroutine(function):
        raise SignatureError(f"expected a function, got {name!r}", help="decorate a def")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise SignatureError(
            f"kernel {name!r} is a generator or async function, whose body would not run",
            help="remove yield or async",
        )
    tensors, templates, required = list[str](), dict[str, object](), list[str]()
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise SignatureError(
                f"kernel {name!r} has a variadic parameter {parameter}",
                help="name each array and each template parameter in the function's signature",
            )
        if parameter.kind is parameter.KEYWORD_ONLY:
            templates[parameter.name] = None if parameter.default is parameter.empty else parameter.default
            if parameter.default is parameter.empty:
                required.append(parameter.name)
        else:
            tensors.append(parameter.name)
    return Signature(name, tuple(tensors), templates, tuple(required))


def _tiles(what: str, specs: object) -> tuple[Tile, ...]:
    """Return the value of `in_specs` or `out_specs` as a tuple of Tiles; it may be a single Tile, or None."""
    tiles = list[Tile]()
    listed = [specs] if isinstance(specs, Tile) else [] if specs is None else as_items(specs)
    if listed is None:
        raise SpecError(
            f"{what} must be a list of Tiles, got {specs!r}", help=f'write one Tile per array: {what}=(Tile("N", f32),)'
        )
    for tile in listed:
        if not isinstance(tile, Tile):
            raise SpecError(f"{what} holds {tile!r}", help='describe each array with a Tile: Tile("M", "N", f32)')
        tiles.append(tile)
    return tuple(tiles)


def _inputs(specs: object) -> tuple[Tile | Scalar, ...]:
    """Return the value of `in_specs` as a tuple: a Tile for each array, a Scalar for each number."""
    listed = [specs] if isinstance(specs, Scalar) else as_items(specs) if not isinstance(specs, Tile) else None
    if not listed:
        return _tiles("in_specs", specs)
    return tuple(each if isinstance(each, Scalar) else _tiles("in_specs", (each,))[0] for each in listed)


def _parameters(inputs: Sequence[Tile | Scalar], names: Sequence[str], options: Options) -> tuple[RawParameter, ...]:
    """Return the kernel's non-array parameters: the Scalars of `in_specs`, then the `raw_params`."""
    pairs = zip(names, inputs, strict=False)
    numbers = [RawParameter(name, each.dtype) for name, each in pairs if isinstance(each, Scalar)]
    return (*numbers, *parse_raw_parameters(options.raw_params or ()))


def _unique(kernel: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1 or name == kernel:
            raise SpecError(f"kernel {kernel!r}: the name {name!r} is used twice", help="rename the parameter")
        if not name.isascii() or name == "_":
            raise SpecError(f"kernel {kernel!r}: invalid name {name!r} of a PTX parameter", help="use ASCII names")


def _grid(
    grid: object, cluster: Dims, dimensions: Sequence[str], templates: Sequence[str], persistent: int
) -> Dims | Callable[..., object]:
    if callable(grid):
        size_parameters("grid", grid, dimensions, templates)
        return grid
    sizes = cluster if grid is None else three("grid", grid)
    check_grid(sizes, cluster, persistent)
    return sizes


def _persistent(persistent: object) -> int:
    count = as_count(persistent)
    if count is None or count < 0:
        raise LaunchError(
            f"persistent must be a non-negative int (CTAs per SM), got {persistent!r}",
            help="pass the maximum number of CTAs per SM: persistent=1",
        )
    return count


def _block(
    options: Options, dimensions: Sequence[str], templates: Sequence[str], target: TargetRow
) -> Dims | Callable[..., object]:
    if callable(options.block):
        if options.reqntid is not None:
            raise LaunchError("both block (a function) and reqntid set the CTA size", help="leave one out")
        size_parameters("block", options.block, dimensions, templates)
        return options.block
    block = three("block", options.block)
    if options.reqntid is not None:
        required = three("reqntid", options.reqntid)
        if block not in {_UNSET_BLOCK, required}:
            raise LaunchError(f"block={block} and reqntid={required} disagree", help="leave block out")
        block = required
    check_block(block, target)
    return block


def _shared_bytes(smem: object, target: TargetRow) -> int:
    size = as_integer(smem)
    if size is None or size < 0:
        raise SharedMemoryError(f"smem must be a number of bytes, got {smem!r}")
    if size > target.shared_optin:
        raise SharedMemoryError(
            f"smem={size} is too large: a CTA on {target.name} has {target.shared_optin // 1024} KiB "
            f"({target.shared_optin} bytes)"
        )
    return size


def _extern_symbol(extern: bool | str) -> str | None:  # noqa: FBT001  the decorator's own argument
    if not extern:
        return None
    symbol = EXTERN_SYMBOL if extern is True else extern
    if not (isinstance(cast("object", symbol), str) and symbol.isidentifier() and symbol.isascii()):
        raise SpecError(f"extern_smem must be a symbol name or True, got {extern!r}", help='write extern_smem="name"')
    return symbol


def _directives(options: Options) -> tuple[HeaderDirective, ...]:
    """Return the performance directives of the entry header; `raw_directives` overrides `reqntid`."""
    if options.raw_directives is not None:
        pairs = as_items(options.raw_directives)
        return tuple(_raw_directive(pair) for pair in ([None] if pairs is None else pairs))
    if options.reqntid is not None:
        return (_directive("reqntid", options.reqntid),)
    return ()


def _raw_directive(pair: object) -> HeaderDirective:
    match as_items(pair):
        case [str(name), values]:
            return _directive(name, values)
        case _:
            raise SpecError(
                "raw_directives must be a list of (name, values) pairs", help='write [("maxntid", (128, 1, 1))]'
            )


def _directive(name: str, values: object) -> HeaderDirective:
    listed = as_items(values)
    arguments = list[Immediate | str]()
    for value in [values] if listed is None else listed:
        number = as_integer(value)
        if number is None and not isinstance(value, str):
            raise SpecError(f"raw_directives: invalid argument {value!r} of .{name}", help="use integers or strings")
        arguments.append(Immediate(str(number)) if number is not None else str(value))
    return HeaderDirective(name.removeprefix("."), tuple(arguments))
