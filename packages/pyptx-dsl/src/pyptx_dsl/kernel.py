"""`@kernel`: a Python function that is a PTX instruction stream, and the object that it becomes.

@kernel(in_specs=(Tile("B", "N", f32),), out_specs=(Tile("B", "N", f32),), grid=lambda B, N: (B, 1, 1), block=(128, 1,
1)) def double(X, Y, *, unroll=4): ...

print(double.ptx(B=16, N=512))     # trace, and look at the text
y = double(x)                      # trace for x's shape, and run on whatever x's arrays run on
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, overload

from pyptx_dsl import runtimes
from pyptx_dsl.errors import KeywordError, ShapeError, UnboundDimensionsError, close
from pyptx_dsl.operands import as_count
from pyptx_dsl.tensors import TensorSpec, TmaDescriptorHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.declaration import Declaration
    from pyptx_dsl.launch import Dims
    from pyptx_dsl.parameters import RawParameter
    from pyptx_dsl.specialize import Traced
    from pyptx_dsl.specs import Tile
    from pyptx_ir.plugins.rows import Argument, Simulation, Specialization
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.toolchain import Resources

__all__ = ["Kernel", "TensorSpec", "TmaDescriptorHandle", "kernel"]


class Kernel:
    """A kernel: trace it with `.ptx()`, compile it with `.cubin()`, run it by calling it.

    The decorator `kernel` documents the arguments. Kernels are immutable and may be used from several threads.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        arch: str = "sm_90a",
        version: tuple[int, int] | None = None,
        in_specs: Sequence[Tile] | None = None,
        out_specs: Sequence[Tile] | None = None,
        grid: Callable[..., object] | Sequence[int] | int | None = None,
        block: Sequence[int] | int = (1, 1, 1),
        cluster: Sequence[int] | int = (1, 1, 1),
        smem: int = 0,
        raw_params: Sequence[tuple[str, str]] | None = None,
        extern_smem: bool | str = False,  # noqa: FBT001, FBT002  the seeds' signature
        reqntid: Sequence[int] | None = None,
        raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
        *,
        lineinfo: bool = False,
        tma_slots: str = "value",
    ) -> None:
        """Check the declaration; raise a KernelError for the first fault in it."""
        # Imported here and below, where they are first needed: `import pyptx` must cost next to nothing.
        from pyptx_dsl.declaration import Options, declare

        options = Options(
            arch, version, in_specs, out_specs, grid, block, cluster, smem, raw_params, extern_smem, reqntid,
            raw_directives, lineinfo, tma_slots,
        )  # fmt: skip
        self._declaration: Declaration = declare(fn, options)
        self._traced: dict[object, Traced] = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, fn)

    # --- what was declared --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self._declaration.name

    @property
    def in_specs(self) -> tuple[Tile, ...]:
        """The tiles of the inputs."""
        return self._declaration.in_specs

    @property
    def out_specs(self) -> tuple[Tile, ...]:
        """The tiles of the outputs."""
        return self._declaration.out_specs

    @property
    def grid(self) -> Dims | Callable[..., object]:
        """The grid, or what computes it."""
        return self._declaration.grid

    @property
    def block(self) -> Dims:
        """The threads of a block, in x, y and z."""
        return self._declaration.block

    @property
    def cluster(self) -> Dims:
        """The blocks of a cluster, in x, y and z."""
        return self._declaration.cluster

    @property
    def smem(self) -> int:
        """The dynamic shared memory that was asked for, in bytes."""
        return self._declaration.shared_bytes

    @property
    def template_params(self) -> dict[str, object]:
        """The keyword-only parameters of the function and their defaults."""
        return dict(self._declaration.templates)

    @property
    def arch(self) -> str:
        """The target, such as `sm_90a`."""
        return self._declaration.target.name

    @property
    def version(self) -> tuple[int, int]:
        """The PTX version of the text."""
        return self._declaration.version

    def __repr__(self) -> str:
        """Return the name and the target."""
        return f"Kernel({self.name}, arch={self.arch!r})"

    # --- looking at it ------------------------------------------------------------------------------

    def ptx(self, **kwargs: object) -> str:
        """Return the PTX for dimensions (`N=4096`) and template values (`BM=128`) given by name.

        Raise UnboundDimensionsError while a dimension has no size, and KeywordError for a name that the kernel has
        not.
        """
        return self._trace(kwargs).text

    def module(self, **kwargs: object) -> Module:
        """Return the syntax tree of the PTX; keywords as for `ptx`."""
        return self._trace(kwargs).module

    def cubin(self, **kwargs: object) -> bytes:
        """Return what ptxas makes of the PTX; cached on disk.

        What ptxas advises becomes a PtxasAdvisory warning at the line of Python that it is about. Raise
        AssemblyFailed at the line that ptxas refuses, and ToolchainError when there is no ptxas.
        """
        from pyptx_dsl import inspection

        return inspection.assembled(self._declaration, self._trace(kwargs)).cubin

    def sass(self, **kwargs: object) -> str:
        """Return the disassembled cubin: what the GPU executes."""
        from pyptx_dsl import inspection

        return inspection.disassembled(self.cubin(**kwargs))

    def resources(self, **kwargs: object) -> Resources:
        """Return registers, spills, stack and shared memory, as ptxas reports them."""
        from pyptx_dsl import inspection

        return inspection.assembled(self._declaration, self._trace(kwargs)).resources[self.name]

    def explain(self, **kwargs: object) -> str:
        """Return what ptxas made of the kernel and what to do about it, then the PTX with the Python that wrote it.

        The report stands in comments: registers and spills, each of ptxas's advisories at its line of Python with its
        meaning and a remedy, and the lines whose code goes through local memory (found with nvdisasm).
        """
        from pyptx_dsl import inspection

        return inspection.explained(self._declaration, self._trace(kwargs))

    # --- running it ---------------------------------------------------------------------------------

    def __call__(self, *arrays: object, **kwargs: object) -> object:
        """Run the kernel on arrays (the inputs, in order) and return the output, or a tuple of outputs.

        Keywords are template values, raw parameters and dimensions. The arrays' runtime does the work: a GPU's, or
        the simulator for NumPy arrays and CPU tensors. Raise RuntimeMissingError when none is installed for them, and
        the ContractError that names the argument for arrays that don't fit the Tiles.
        """
        torch = sys.modules.get("torch")
        if torch is not None and torch.compiler.is_compiling():
            # torch.compile must break its graph here: it would trace into the tracing of the kernel.
            return torch.compiler.disable(self._run)(arrays, kwargs)
        return self._run(arrays, kwargs)

    def _run(self, arrays: Sequence[object], keywords: Mapping[str, object]) -> object:
        return runtimes.call(self, arrays, keywords)

    def simulate(self, *arrays: object, checks: str = "all", seed: int = 0, **kwargs: object) -> Simulation:
        """Run the kernel on the simulator and return its outputs and findings as one value.

        `checks` is `"all"` or `"none"`; `seed` chooses the schedule of asynchronous work.
        """
        return runtimes.simulate(self, arrays, {**kwargs, "checks": checks, "seed": seed})

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Check the inputs against the kernel's contract and return all that a runtime needs to launch it."""
        from pyptx_dsl.contract import check_arguments
        from pyptx_dsl.specialize import specialization

        declaration = self._declaration
        templates, env, raw = self._split(keywords)
        if declaration.tiles:
            names, tiles = declaration.tensors, declaration.in_specs
            found = check_arguments(self.name, names, tiles, arguments)
            for dimension, size in env.items():
                if found.setdefault(dimension, size) != size:
                    raise ShapeError(
                        f"{self.name}: {dimension}={size} was given, and the arrays say {found[dimension]}"
                    )
            env = found
        env = self._bound(env, templates)
        traced = self._traced_for(env, templates)
        grid = self._grid({name: env[name] for name in declaration.dimensions if name in env}, templates)
        scalars = {row.name: self._scalar(row, raw, env, templates) for row in declaration.raw}
        return specialization(declaration, traced, grid, scalars)

    # --- tracing ------------------------------------------------------------------------------------

    def _trace(self, kwargs: Mapping[str, object]) -> Traced:
        templates, env, _ = self._split(kwargs)
        return self._traced_for(self._bound(env, templates), templates)

    def _split(self, kwargs: Mapping[str, object]) -> tuple[dict[str, object], dict[str, int], dict[str, object]]:
        """Sort keywords into template values, dimensions and raw parameters; one name may be several of them."""
        declaration = self._declaration
        raw_names = {parameter.name for parameter in declaration.raw}
        known = (*declaration.dimensions, *declaration.templates, *raw_names)
        for name in kwargs:
            if name not in known:
                raise KeywordError(
                    f"{self.name} has no dimension, template or raw parameter {name!r}",
                    hint=close(name, known) if known else "it has none at all",
                )
        env = {name: self._size(name, kwargs[name]) for name in declaration.dimensions if name in kwargs}
        templates = {name: kwargs.get(name, default) for name, default in declaration.templates.items()}
        missing = [name for name in declaration.required if name not in kwargs]
        if missing:
            raise KeywordError(
                f"{self.name} needs {', '.join(missing)}", hint=f"pass {', '.join(f'{name}=…' for name in missing)}"
            )
        return templates, env, {name: kwargs[name] for name in raw_names if name in kwargs}

    def _size(self, name: str, value: object) -> int:
        size = as_count(value)
        if size is None or size < 1:
            raise KeywordError(f"{self.name}: {name}={value!r} is no size of a dimension")
        return size

    def _bound(self, env: Mapping[str, int], templates: Mapping[str, object]) -> dict[str, int]:
        """Return a size for every dimension; a template parameter of the same name may give it."""
        bound = dict(env)
        for name in self._declaration.dimensions:
            size = as_count(templates.get(name)) if name in templates else None
            if name not in bound and size is not None:
                bound[name] = size
        missing = [name for name in self._declaration.dimensions if name not in bound]
        if missing:
            call = ", ".join(f"{name}={bound.get(name, '…')}" for name in self._declaration.dimensions)
            raise UnboundDimensionsError(
                f"{self.name}: no size for {', '.join(missing)}", hint=f"write {self.name}.ptx({call})"
            )
        return bound

    def _traced_for(self, env: Mapping[str, int], templates: Mapping[str, object]) -> Traced:
        """Return the trace for these values, made once; values that cannot be compared are traced anew each time."""
        from pyptx_dsl.keys import freeze
        from pyptx_dsl.specialize import trace_kernel

        frozen = freeze(templates)
        key = None if frozen is None else (tuple(env[name] for name in self._declaration.dimensions), frozen)
        known = self._traced.get(key) if key is not None else None
        if known is not None:
            return known
        with self._lock:
            if key is not None and key in self._traced:
                return self._traced[key]
            traced = trace_kernel(self._declaration, env, templates)
            if key is not None:
                self._traced[key] = traced
            return traced

    def _grid(self, env: Mapping[str, int], templates: Mapping[str, object]) -> Dims:
        from pyptx_dsl.launch import call_grid, check_grid

        grid = self._declaration.grid
        sizes = call_grid(grid, env, templates) if callable(grid) else grid
        check_grid(sizes, self._declaration.cluster)
        return sizes

    def _scalar(
        self,
        parameter: RawParameter,
        raw: Mapping[str, object],
        env: Mapping[str, int],
        templates: Mapping[str, object],
    ) -> int | float:
        """Return the value of a raw parameter: given by name, or a dimension or template value of that name."""
        name = parameter.name
        if not parameter.is_scalar:
            raise KeywordError(
                f"{self.name}: the raw parameter {name!r} is no scalar, so a call cannot pass it",
                hint="declare arrays by in_specs and out_specs, or launch the cubin yourself",
            )
        for values in (raw, env, templates):
            if values.get(name) is not None:
                return parameter.value(values[name])
        raise KeywordError(f"{self.name} needs the raw parameter {name!r}", hint=f"pass {name}=…")


@overload
def kernel(fn: Callable[..., object], /) -> Kernel: ...


@overload
def kernel(
    fn: None = None,
    *,
    arch: str = "sm_90a",
    version: tuple[int, int] | None = None,
    in_specs: Sequence[Tile] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Callable[..., object] | Sequence[int] | int | None = None,
    block: Sequence[int] | int = (1, 1, 1),
    cluster: Sequence[int] | int = (1, 1, 1),
    smem: int = 0,
    raw_params: Sequence[tuple[str, str]] | None = None,
    extern_smem: bool | str = False,
    reqntid: Sequence[int] | None = None,
    raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
    lineinfo: bool = False,
    tma_slots: str = "value",
) -> Callable[[Callable[..., object]], Kernel]: ...


def kernel(
    fn: Callable[..., object] | None = None,
    *,
    arch: str = "sm_90a",
    version: tuple[int, int] | None = None,
    in_specs: Sequence[Tile] | None = None,
    out_specs: Sequence[Tile] | None = None,
    grid: Callable[..., object] | Sequence[int] | int | None = None,
    block: Sequence[int] | int = (1, 1, 1),
    cluster: Sequence[int] | int = (1, 1, 1),
    smem: int = 0,
    raw_params: Sequence[tuple[str, str]] | None = None,
    extern_smem: bool | str = False,
    reqntid: Sequence[int] | None = None,
    raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
    lineinfo: bool = False,
    tma_slots: str = "value",
) -> Kernel | Callable[[Callable[..., object]], Kernel]:
    """Turn a function into a Kernel; works bare (`@kernel`) and with arguments.

    The function's positional parameters are arrays (inputs, then outputs), its keyword-only ones template parameters
    that are baked into the text. Nothing is traced until something is asked for.

    Args:
        fn: the function, when the decorator stands without arguments.
        arch: the target (`"sm_90a"`), or `"auto"` for the machine's first GPU.
        version: the PTX version; by default one that the target needs and ptxas accepts.
        in_specs: a Tile for each input.
        out_specs: a Tile for each output; outputs are allocated by the runtime.
        grid: one to three sizes, or a callable that computes them from dimensions and template values by name.
        block: one to three sizes; at most 1024 threads.
        cluster: one to three sizes; blocks of a cluster.
        smem: bytes of dynamic shared memory to ask for.
        raw_params: further entry parameters, as `("u32", "n")` or `("u64.ptr.global.palign16", "p")`.
        extern_smem: declare `.extern .shared .align 128 .b8 global_smem[]`, or the symbol named here.
        reqntid: emit `.reqntid`; gives the block too, if that is left out.
        raw_directives: header directives `(name, values)`, instead of `reqntid`.
        lineinfo: emit `.file` and `.loc`, so that profilers and debuggers show Python lines.
        tma_slots: `"value"` passes TMA descriptors by value, `"pointer"` as `.param .u64`.

    """
    build = functools.partial(
        Kernel,
        arch=arch,
        version=version,
        in_specs=in_specs,
        out_specs=out_specs,
        grid=grid,
        block=block,
        cluster=cluster,
        smem=smem,
        raw_params=raw_params,
        extern_smem=extern_smem,
        reqntid=reqntid,
        raw_directives=raw_directives,
        lineinfo=lineinfo,
        tma_slots=tma_slots,
    )
    return build if fn is None else build(fn)
