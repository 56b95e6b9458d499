"""The object that `@kernel` returns for a function.

print(double.ptx(B=16, N=512))     # trace, and print the PTX
y = double(x)                      # trace for x's shape, and run on the device of x
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Generic, NoReturn, overload

from pyptx_dsl.contract.scalars import apart
from pyptx_dsl.kernels import runtimes
from pyptx_dsl.kernels.by_name import by_name
from pyptx_dsl.kernels.results import OutSpecs_co
from pyptx_dsl.tracebacks import entry, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.contract.launch import Dims
    from pyptx_dsl.contract.scalars import Scalar
    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.inspect.side_by_side import KernelListing
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.results import Array, Kind, NoOutput, OneOutput, Out, SeveralOutputs
    from pyptx_dsl.kernels.specialize import Traced
    from pyptx_ir.plugins.rows import Argument, Simulation, Specialization
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.toolchain import Assembly, Resources


MYPY = False  # type checkers evaluate this constant as True
_TRACES = 1024  # maximum number of cached traces per kernel


class Kernel(Generic[OutSpecs_co]):
    """A kernel: trace it with `.ptx()`, compile it with `.cubin()`, run it by calling it.

    Type checkers infer its results from the type of `out_specs`: calls of a `Kernel[tuple[Tile]]` return an array of
    the inputs' framework, of a `Kernel[tuple[Tile, Tile]]` a tuple of arrays, of a `Kernel[None]` nothing. A bare
    `Kernel` is any of these.

    The decorator `kernel` documents the arguments. Kernels are immutable and thread-safe.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        arch: str = "sm_90a",
        version: tuple[int, int] | None = None,
        in_specs: Sequence[Tile | Scalar] | None = None,
        out_specs: OutSpecs_co | None = None,
        grid: Callable[..., object] | Sequence[int] | int | None = None,
        block: Callable[..., object] | Sequence[int] | int = (1, 1, 1),
        cluster: Sequence[int] | int = (1, 1, 1),
        smem: int = 0,
        raw_params: Sequence[tuple[str, str]] | None = None,
        extern_smem: bool | str = False,  # noqa: FBT001, FBT002  the seeds' signature
        reqntid: Sequence[int] | None = None,
        raw_directives: Sequence[tuple[str, Sequence[object]]] | None = None,
        *,
        lineinfo: bool = False,
        tma_slots: str = "value",
        mutates: Sequence[str] = (),
        launch: Mapping[str, object] | None = None,
        persistent: int = 0,
    ) -> None:
        """Check the decorator's arguments and set up the kernel; raise a KernelError for the first error."""
        # Most modules are imported at first use, to keep `import pyptx` fast.
        from pyptx_dsl.kernels.declaration import Options, declare

        options = Options(
            arch, version, in_specs, out_specs, grid, block, cluster, smem, raw_params, extern_smem, reqntid,
            raw_directives, lineinfo, tma_slots, mutates, launch, persistent,
        )  # fmt: skip
        try:
            self._begin(declare(fn, options))
        except Exception as error:
            shorten(error)
            raise

    def _begin(self, declaration: Declaration) -> None:
        """Set the attributes of a new kernel: its declaration, and an empty trace cache."""
        self._declaration = declaration
        self._scalars = declaration.scalars
        self._traced: dict[object, Traced] = {}
        self._lock = threading.RLock()
        self._is_compiling = runtimes.compiling_check()
        self._launcher: Callable[..., object] | None = None
        self._launched_by: set[str] = set()  # names of the runtimes that have launched the kernel
        self._operator: Callable[..., object]  # function that torch.compile traces instead of `_run`; set on demand
        functools.update_wrapper(self, declaration.function)

    # --- declaration ------------------------------------------------------------------------------

    @property
    def declaration(self) -> Declaration:
        """Checked arguments of the kernel's decorator, which runtimes read."""
        return self._declaration

    @property
    def name(self) -> str:
        """Name of the kernel's PTX entry."""
        return self._declaration.name

    @property
    def in_specs(self) -> tuple[Tile, ...]:
        """Tiles of the input arrays."""
        return self._declaration.in_specs

    @property
    def out_specs(self) -> tuple[Tile, ...]:
        """Tiles of the output arrays."""
        return self._declaration.out_specs

    @property
    def mutates(self) -> tuple[str, ...]:
        """Names of the inputs that the kernel writes."""
        return tuple(self._declaration.tensors[index] for index in self._declaration.mutated)

    @property
    def grid(self) -> Dims | Callable[..., object]:
        """The grid, or the function that computes it."""
        return self._declaration.grid

    @property
    def block(self) -> Dims | Callable[..., object]:
        """Threads per CTA in x, y and z, or the function that computes them."""
        return self._declaration.block

    @property
    def cluster(self) -> Dims:
        """CTAs per cluster in x, y and z."""
        return self._declaration.cluster

    @property
    def smem(self) -> int:
        """Bytes of dynamic shared memory that the decorator declares."""
        return self._declaration.shared_bytes

    @property
    def template_params(self) -> dict[str, object]:
        """Template parameters (keyword-only parameters of the function) and their defaults."""
        return dict(self._declaration.templates)

    @property
    def arch(self) -> str:
        """PTX target of the kernel, such as `sm_90a`."""
        return self._declaration.target.name

    @property
    def version(self) -> tuple[int, int]:
        """PTX version of the kernel, a (major, minor) pair."""
        return self._declaration.version

    def __repr__(self) -> str:
        """Return a text with the kernel's name and target."""
        return f"Kernel({self.name}, arch={self.arch!r})"

    def __deepcopy__(self, _memo: object) -> Kernel[OutSpecs_co]:
        """Return the kernel itself as its deep copy: kernels are immutable, and a real copy would be traced again."""
        return self

    def __copy__(self) -> Kernel[OutSpecs_co]:
        """Return the kernel itself as its copy."""
        return self

    def __reduce__(self) -> str:
        """Pickle by name, like functions; a kernel decorated inside a function cannot be pickled."""
        return self._declaration.function.__qualname__

    if not MYPY:  # not for type checkers: with `__getattr__`, they would accept any attribute

        @entry
        def __getattr__(self, name: str) -> object:
            """Raise UnknownNameError (an AttributeError) with the attribute names nearest to `name`."""
            if name == "_operator":  # code that torch.compile made for another kernel may read this attribute
                self._ready_to_compile()
                return vars(self)[name]
            from pyptx_dsl.mistakes.unknown_attributes import unknown_of_kernel

            raise unknown_of_kernel(self, name)

    @entry
    def __getitem__(self, grid: object) -> NoReturn:
        """Raise CallError: a call takes only the arrays; the grid is part of the declaration."""
        from pyptx_dsl.errors import CallError

        raise CallError(
            f"{self.name}[{grid!r}]: a kernel is called without a grid",
            help="set the grid in the decorator, @kernel(grid=…), as numbers or a function of the dimensions, and "
            f"call {self.name}(…)",
        )

    # --- inspection -------------------------------------------------------------------------------

    @by_name
    def ptx(self, **kwargs: object) -> str:
        """Return the PTX for dimensions (`N=4096`) and template values (`BM=128`) given by name.

        Raises UnboundDimensionsError if a dimension has no size, and KeywordError for an unknown name.
        """
        return self._trace(kwargs).text

    @by_name
    def module(self, **kwargs: object) -> Module:
        """Return the syntax tree of the kernel's PTX; keywords as for `ptx`."""
        return self._trace(kwargs).module

    @by_name
    def cubin(self, **kwargs: object) -> bytes:
        """Return the kernel's cubin from ptxas; cached on disk.

        Advisories of ptxas become PtxasAdvisory warnings at the Python line that they refer to. Raises AssemblyFailed
        at the line that ptxas rejects, and ToolchainError without ptxas.
        """
        return self._assembled(kwargs).cubin

    @by_name
    def sass(self, **kwargs: object) -> str:
        """Return the SASS of the kernel's cubin, from nvdisasm."""
        from pyptx_dsl.inspect import answers as inspection

        return inspection.disassembled(self.cubin(**kwargs))

    @by_name
    def resources(self, **kwargs: object) -> Resources:
        """Return registers, spills and stack as reported by ptxas, and total shared memory, static and dynamic."""
        from dataclasses import replace

        reported = self._assembled(kwargs).resources[self.name]
        return replace(reported, shared=reported.shared + self._trace(kwargs).shared_bytes)

    @by_name
    def listing(self, **kwargs: object) -> KernelListing:
        """Return Python, PTX and SASS of the kernel, which notebooks show side by side; see `KernelListing`."""
        from pyptx_dsl.inspect.side_by_side import listing

        return listing(self._declaration, self._trace(kwargs))

    def _repr_html_(self) -> str:
        """Return the kernel's parameters, and its `listing` if no size is missing, for notebooks."""
        from pyptx_dsl.inspect.notebooks import kernel_html

        return kernel_html(self._declaration, self.listing)

    @by_name
    def explain(self, **kwargs: object) -> str:
        """Return ptxas's report on the kernel with remedies, then the PTX with the Python lines that emitted it.

        The report is in comments: registers and spills, then each advisory of ptxas at its Python line with an
        explanation and a remedy. Last are the Python lines whose SASS accesses local memory (found with nvdisasm).
        """
        from pyptx_dsl.inspect import answers as inspection

        return inspection.explained(self._declaration, self._trace(kwargs))

    def _assembled(self, kwargs: Mapping[str, object]) -> Assembly:
        from pyptx_dsl.inspect.answers import Listing, assembled

        return assembled(Listing.of_trace(self._declaration, self._trace(kwargs)))

    # --- execution --------------------------------------------------------------------------------

    @overload
    def __call__(self: Kernel[NoOutput], /, *arrays: Array[object] | float, **kwargs: object) -> None: ...
    @overload
    def __call__(self: Kernel[OneOutput], /, *arrays: Array[object] | float, out: Out, **kwargs: object) -> Out: ...
    @overload
    def __call__(
        self: Kernel[OneOutput], first: Array[Kind], /, *arrays: Array[Kind] | float, **kwargs: object
    ) -> Kind: ...
    @overload
    def __call__(
        self: Kernel[SeveralOutputs], /, *arrays: Array[object] | float, out: Sequence[Out], **kwargs: object
    ) -> tuple[Out, ...]: ...
    @overload
    def __call__(
        self: Kernel[SeveralOutputs], first: Array[Kind], /, *arrays: Array[Kind] | float, **kwargs: object
    ) -> tuple[Kind, ...]: ...
    @overload
    def __call__(
        self, first: Array[Kind], /, *arrays: Array[Kind] | float, **kwargs: object
    ) -> Kind | tuple[Kind, ...] | None: ...
    @overload
    def __call__(self, /, **kwargs: object) -> object: ...

    def __call__(self, /, *arrays: object, **kwargs: object) -> object:
        """Run the kernel on arrays (the inputs, in order) and return the output, a tuple of outputs, or None.

        Keywords are template values, `raw_params` and dimensions; `out`, the array (or tuple of arrays) to write to;
        and, for a call without arrays, `device`. The runtime of the arrays runs the kernel: a GPU's, or the simulator
        for NumPy arrays and CPU tensors. Raises RuntimeMissingError if the arrays have no runtime, and ContractError,
        with the argument's name, for arrays that do not match the Tiles.
        """
        if self._is_compiling():
            self._ready_to_compile()
            if self._scalars:
                arrays, kwargs = apart(self._declaration, arrays, kwargs)
            return self._operator(*arrays, **kwargs)
        try:
            return (self._launcher or self._run)(*arrays, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    def _run(self, /, *arrays: object, **kwargs: object) -> object:
        """Run a checked call on the arrays' runtime; store the runtime's launcher, the function for further calls."""
        if self._scalars:
            arrays, kwargs = apart(self._declaration, arrays, kwargs)
        runtime, result = runtimes.call(self, arrays, kwargs)
        if runtime.launcher is not None and runtime.name not in self._launched_by:
            with self._lock:  # the new runtime's launcher passes arrays of other frameworks to the previous launcher
                self._launcher = runtime.launcher(self, self._launcher or self._run)
                self._launched_by.add(runtime.name)
        return result

    @runtimes.called_while_compiling
    def _ready_to_compile(self) -> bool:
        """Store in `_operator` the function that torch.compile traces instead of `_run`; torch.compile calls this."""
        if "_operator" not in vars(self):
            # Without a custom operator, torch.compile breaks its graph here instead of tracing the body of the kernel.
            self._operator = runtimes.operator(self) or sys.modules["torch"].compiler.disable(self._run)
        return True

    @overload
    def simulate(
        self, first: Array[Kind], /, *arrays: Array[Kind] | float, checks: str = "all", seed: int = 0, **kwargs: object
    ) -> Simulation[Kind]: ...
    @overload
    def simulate(self, /, *, checks: str = "all", seed: int = 0, **kwargs: object) -> Simulation: ...

    @entry
    def simulate(self, /, *arrays: object, checks: str = "all", seed: int = 0, **kwargs: object) -> Simulation:
        """Run the kernel on the simulator and return its outputs and findings.

        `checks` is `"all"` or `"none"`; `seed` selects the schedule of asynchronous operations. `trace="run.json"`, or
        `"run.svg"`, writes a timeline of the run. `progress(done, total)` is called with numbers of CTAs.
        """
        if self._scalars:
            arrays, kwargs = apart(self._declaration, arrays, kwargs)
        return runtimes.simulate(self, arrays, {**kwargs, "checks": checks, "seed": seed})

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Check the inputs against the kernel's contract and return the data that a runtime needs to launch it."""
        from pyptx_dsl.contract.arguments import check_arguments
        from pyptx_dsl.kernels.binding import bind, block_of, grid_of, merge_sizes, scalar_of, sort_keywords
        from pyptx_dsl.kernels.specialize import specialization, without_blocks

        declaration = self._declaration
        given = sort_keywords(declaration, keywords)
        sizes = given.sizes
        if declaration.tiles:
            found = check_arguments(self.name, declaration.tensors, declaration.in_specs, arguments)
            sizes = merge_sizes(self.name, sizes, found)
        bound = bind(declaration, sizes, given.templates)
        empty = 0 in bound.values() or (not declaration.tiles and any(0 in each.shape for each in arguments))
        if empty and 0 in grid_of(declaration, bound, given.templates, empty=True):
            return without_blocks(declaration, bound)
        traced = self._traced_for(bound, given.templates)
        grid, block = (sizes(declaration, bound, given.templates) for sizes in (grid_of, block_of))
        scalars = {row.name: scalar_of(self.name, row, given, bound) for row in declaration.raw}
        return specialization(declaration, traced, grid, block, scalars)

    # --- tracing ------------------------------------------------------------------------------------

    def _trace(self, kwargs: Mapping[str, object]) -> Traced:
        from pyptx_dsl.kernels.binding import bind, sort_keywords

        given = sort_keywords(self._declaration, kwargs)
        return self._traced_for(bind(self._declaration, given.sizes, given.templates), given.templates)

    def _traced_for(self, env: Mapping[str, int], templates: Mapping[str, object]) -> Traced:
        """Return the cached trace for these sizes and template values; trace anew if the values have no cache key."""
        from pyptx_dsl.kernels.keys import freeze

        frozen = freeze(templates)
        key = None if frozen is None else (tuple(env[name] for name in self._declaration.dimensions), frozen)
        known = self._traced.get(key) if key is not None else None
        if known is not None:
            return known
        with self._lock:
            if key is not None and key in self._traced:
                return self._traced[key]
            traced = self._traced_anew(env, templates)
            if key is not None:
                if len(self._traced) >= _TRACES:  # drop the oldest cached trace; cached launches still refer to it
                    del self._traced[next(iter(self._traced))]
                self._traced[key] = traced
            return traced

    def _traced_anew(self, env: Mapping[str, int], templates: Mapping[str, object]) -> Traced:
        """Trace the kernel's function for these sizes and template values, without the cache."""
        from pyptx_dsl.kernels.specialize import trace_kernel

        return trace_kernel(self._declaration, env, templates)
