"""The object that `@kernel` makes of a function.

print(double.ptx(B=16, N=512))     # trace, and look at the text
y = double(x)                      # trace for x's shape, and run on whatever x's arrays run on
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
    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.results import Array, Kind, NoOutput, OneOutput, Out, SeveralOutputs
    from pyptx_dsl.kernels.specialize import Traced
    from pyptx_ir.plugins.rows import Argument, Simulation, Specialization
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.toolchain import Assembly, Resources


MYPY = False  # a type checker sets it
_TRACES = 1024  # how many traces a kernel remembers


class Kernel(Generic[OutSpecs_co]):
    """A kernel: trace it with `.ptx()`, compile it with `.cubin()`, run it by calling it.

    Type checkers know it by the type of `out_specs`: calls of a `Kernel[tuple[Tile]]` return an array of the inputs'
    framework, those of a `Kernel[tuple[Tile, Tile]]` a tuple of them, those of a `Kernel[None]` nothing. A bare
    `Kernel` is any of these.

    The decorator `kernel` documents the arguments. Kernels are immutable and may be used from several threads.
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
        """Check the declaration; raise a KernelError for the first fault in it."""
        # Imported here and below, where they are first needed: `import pyptx` must cost next to nothing.
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
        """Start with a declaration and nothing traced."""
        self._declaration = declaration
        self._scalars = declaration.scalars
        self._traced: dict[object, Traced] = {}
        self._lock = threading.RLock()
        self._is_compiling = runtimes.compiling_check()
        self._launcher: Callable[..., object] | None = None
        self._launched_by: set[str] = set()  # names of runtimes
        self._operator: Callable[..., object]  # once torch.compile has asked for it
        functools.update_wrapper(self, declaration.function)

    # --- what was declared --------------------------------------------------------------------------

    @property
    def declaration(self) -> Declaration:
        """All that the decorator was told, checked; for runtimes."""
        return self._declaration

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
    def mutates(self) -> tuple[str, ...]:
        """The names of the inputs that the kernel writes to."""
        return tuple(self._declaration.tensors[index] for index in self._declaration.mutated)

    @property
    def grid(self) -> Dims | Callable[..., object]:
        """The grid, or what computes it."""
        return self._declaration.grid

    @property
    def block(self) -> Dims | Callable[..., object]:
        """The threads of a block, in x, y and z, or what computes them."""
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

    def __deepcopy__(self, _memo: object) -> Kernel[OutSpecs_co]:
        """Return itself, as functions do: a kernel is immutable, and its copies would be traced anew."""
        return self

    def __copy__(self) -> Kernel[OutSpecs_co]:
        """Return itself."""
        return self

    def __reduce__(self) -> str:
        """Pickle by name, as functions do; what was decorated inside a function cannot be."""
        return self._declaration.function.__qualname__

    if not MYPY:  # type checkers know what a kernel has

        @entry
        def __getattr__(self, name: str) -> object:
            """Raise UnknownNameError with what to write instead: an AttributeError."""
            if name == "_operator":  # of a kernel that code runs with which torch.compile made for another one
                self._ready_to_compile()
                return vars(self)[name]
            from pyptx_dsl.mistakes.unknown_attributes import unknown_of_kernel

            raise unknown_of_kernel(self, name)

    @entry
    def __getitem__(self, grid: object) -> NoReturn:
        """Raise CallError: a call takes the arrays alone, and the declaration says how many blocks there are."""
        from pyptx_dsl.errors import CallError

        raise CallError(
            f"{self.name}[{grid!r}]: a kernel is called with its arrays alone, without a grid",
            hint=f"the decorator says it, @kernel(grid=…), as numbers or a function of the dimensions: {self.name}(…)",
        )

    # --- looking at it ------------------------------------------------------------------------------

    @by_name
    def ptx(self, **kwargs: object) -> str:
        """Return the PTX for dimensions (`N=4096`) and template values (`BM=128`) given by name.

        Raise UnboundDimensionsError while a dimension has no size, and KeywordError for a name that the kernel has
        not.
        """
        return self._trace(kwargs).text

    @by_name
    def module(self, **kwargs: object) -> Module:
        """Return the syntax tree of the PTX; keywords as for `ptx`."""
        return self._trace(kwargs).module

    @by_name
    def cubin(self, **kwargs: object) -> bytes:
        """Return what ptxas makes of the PTX; cached on disk.

        What ptxas advises becomes a PtxasAdvisory warning at the line of Python that it is about. Raise
        AssemblyFailed at the line that ptxas refuses, and ToolchainError when there is no ptxas.
        """
        return self._assembled(kwargs).cubin

    @by_name
    def sass(self, **kwargs: object) -> str:
        """Return the disassembled cubin: what the GPU executes."""
        from pyptx_dsl.inspect import answers as inspection

        return inspection.disassembled(self.cubin(**kwargs))

    @by_name
    def resources(self, **kwargs: object) -> Resources:
        """Return registers, spills and stack, as ptxas reports them, and all shared memory, dynamic too."""
        from dataclasses import replace

        reported = self._assembled(kwargs).resources[self.name]
        return replace(reported, shared=reported.shared + self._trace(kwargs).shared_bytes)

    @by_name
    def explain(self, **kwargs: object) -> str:
        """Return what ptxas made of the kernel and what to do about it, then the PTX with the Python that wrote it.

        The report stands in comments: registers and spills, each of ptxas's advisories at its line of Python with its
        meaning and a remedy, and the lines whose code goes through local memory (found with nvdisasm).
        """
        from pyptx_dsl.inspect import answers as inspection

        return inspection.explained(self._declaration, self._trace(kwargs))

    def _assembled(self, kwargs: Mapping[str, object]) -> Assembly:
        from pyptx_dsl.inspect.answers import Listing, assembled

        return assembled(Listing.of_trace(self._declaration, self._trace(kwargs)))

    # --- running it ---------------------------------------------------------------------------------

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
        """Run the kernel on arrays (the inputs, in order) and return the output, a tuple of several, or None.

        Keywords are template values, raw parameters and dimensions; `out`, the array (or tuple of arrays) to write to;
        and, for a call without arrays, `device`. The arrays' runtime does the work: a GPU's, or the simulator for NumPy
        arrays and CPU tensors. Raise RuntimeMissingError when none is installed for them, and the ContractError that
        names the argument for arrays that don't fit the Tiles.
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
        """Run the kernel the long way: find the runtime, let it check everything, and learn its short way."""
        if self._scalars:
            arrays, kwargs = apart(self._declaration, arrays, kwargs)
        runtime, result = runtimes.call(self, arrays, kwargs)
        if runtime.launcher is not None and runtime.name not in self._launched_by:
            with self._lock:  # several frameworks take turns: each hands what is not its own to the one before
                self._launcher = runtime.launcher(self, self._launcher or self._run)
                self._launched_by.add(runtime.name)
        return result

    @runtimes.called_while_compiling
    def _ready_to_compile(self) -> bool:
        """Fetch what torch.compile traces instead of `_run`; it calls this while it traces, for its effect."""
        if "_operator" not in vars(self):
            # A graph breaks where no runtime has an operator: it would trace into the tracing of the kernel.
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
        """Run the kernel on the simulator and return its outputs and findings as one value.

        `checks` is `"all"` or `"none"`; `seed` chooses the schedule of asynchronous work. `trace="run.json"`, or
        `"run.svg"`, writes a timeline of the run.
        """
        if self._scalars:
            arrays, kwargs = apart(self._declaration, arrays, kwargs)
        return runtimes.simulate(self, arrays, {**kwargs, "checks": checks, "seed": seed})

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Check the inputs against the kernel's contract and return all that a runtime needs to launch it."""
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
        """Return the trace for these values, made once; values that cannot be compared are traced anew each time."""
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
                if len(self._traced) >= _TRACES:  # the one made first goes; whoever launches it holds it
                    del self._traced[next(iter(self._traced))]
                self._traced[key] = traced
            return traced

    def _traced_anew(self, env: Mapping[str, int], templates: Mapping[str, object]) -> Traced:
        """Trace the function for these values."""
        from pyptx_dsl.kernels.specialize import trace_kernel

        return trace_kernel(self._declaration, env, templates)
