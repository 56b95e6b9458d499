"""Rows that plugins' hooks return, and the values that kernels and runtimes exchange.

All are immutable and need no import of NumPy, torch or jax: a plugin module is loaded long before (and often without)
the framework that it serves.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import TypeVar  # `typing.TypeVar` has no defaults before Python 3.13

    from pyptx_ir.fragments.layout import Fragment
    from pyptx_ir.plugins.timings import Timings
    from pyptx_ir.syntax.nodes import Module

    ArrayT_co = TypeVar("ArrayT_co", covariant=True, default=object)
    # Any, because each runtime uses the declaration class of its front end, and the rows cover all runtimes.
    DeclarationT_co = TypeVar("DeclarationT_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    ArrayT_co = TypeVar("ArrayT_co", covariant=True)
    DeclarationT_co = TypeVar("DeclarationT_co", covariant=True)


@value
class Frame(Value):
    """One line of user code that emitted an instruction, as file, line and function."""

    file: str
    line: int
    function: str


@value
class Argument(Value):
    """Description of one array argument, without the array.

    `shape` and `strides` count elements. `dtype` is the PTX name (`"f32"`, `"bf16"`, …), `address` that of the first
    byte, for the alignment check, and `device` is `"cpu"`, `"cuda:0"`, ….
    """

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    address: int = 0
    device: str = "cpu"


@value
class Im2col(Value):
    """Parameters of a tensor copy in im2col mode, in place of a box. Manual: "Tensors", "Im2col mode".

    The tensor is N x (D x H x) W x C, innermost last. A copy takes `pixels` pixels in that order, and `channels`
    elements of each. `lower` and `upper` have an offset for each of D, H and W. Pixels are counted in the bounding box
    from `lower` to the last pixel of the tensor plus `upper`.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


# Values of the fields of a TensorMap, in the order of the CUDA driver's enumerations.
SWIZZLES: Final = ("none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B")
INTERLEAVES: Final = ("none", "16B", "32B")
L2_PROMOTIONS: Final = ("none", "64B", "128B", "256B")
FILLS: Final = ("zeros", "nan")
# Keyword argument that pyptx-jax adds to a runtime's `call`, never a user: the arrays of `out=` were allocated for this
# call, so the kernel must write each of their elements.
ALLOCATED: Final = "out is allocated"


@value
class TensorMap(Value):
    """Contents of a TMA descriptor except the address. CUDA driver API: "Tensor Map Object Management".

    Dimensions are in the order of the array's shape, innermost last; the driver's order is the reverse. `strides` are
    in bytes; `box` and `element_strides` count elements. `dtype` is the PTX name, or one of `PACKED_ELEMENTS`, whose
    innermost stride is 1. `swizzle` is one of `SWIZZLES`, `interleave` of `INTERLEAVES`. `l2_promotion`, of
    `L2_PROMOTIONS`, is the granularity of L2 fetches. `fill`, of `FILLS`, is the value of out-of-bounds elements. With
    `im2col`, `box` is empty.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: str = "none"
    interleave: str = "none"
    l2_promotion: str = "none"
    fill: str = "zeros"
    im2col: Im2col | None = None


@value
class EntryParameter(Value):
    """One `.param` of a kernel's entry, in order.

    A `kind` of `"tensor"` is a pointer; `index` counts inputs, then outputs. A `"scalar"` has the argument of the call
    as `value`, its PTX type as `type`. A `"descriptor"` belongs to tensor `index`. Its `descriptor` is a TensorMap or
    another value of a `DescriptorKind`; type `"b8"` is passed by value, `"u64"` as a pointer to device memory.
    """

    name: str
    kind: str
    type: str
    index: int | None = None
    value: int | float | None = None
    descriptor: object | None = None


@value
class Input(Value):
    """An array argument of a call; `strides` count elements, and its address must be a multiple of `alignment`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    alignment: int


@value
class Output(Value):
    """An array that the runtime allocates, uninitialized, and returns; `strides` count elements.

    The address of an array that the caller passes instead must be a multiple of `alignment`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    alignment: int = 1


@value
class SharedVariable(Value):
    """An allocation in dynamic shared memory: `size` bytes at byte `offset`."""

    name: str
    offset: int
    size: int


@value
class Specialization(Value):
    """A kernel traced for given shapes and template values, with everything that a runtime needs to launch it.

    `shared_bytes` is the dynamic shared memory of the launch. `mutated` are the indices of the inputs that the kernel
    writes. `attributes` are launch attributes besides the cluster: pairs of a CUlaunchAttributeID and the bytes of its
    value. `inputs` are the contract's requirements for the arrays; empty for a kernel without one. `image` is machine
    code compiled ahead of time. `shared` are the user's allocations in dynamic shared memory, for messages. `origins`
    maps a physical line of `text` (from 1) to the user's frames, innermost first.

    `persistent` is 0, except for a persistent kernel, whose CTAs process all of the work regardless of their number.
    Then it is the maximum number of CTAs per SM, and runtimes launch `grid_on` their device.

    For a call with an empty array, `grid` may have a 0. Then the text is empty, and runtimes return the outputs.
    """

    entry: str
    text: str
    module: Module
    target: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    parameters: tuple[EntryParameter, ...]
    outputs: tuple[Output, ...]
    mutated: tuple[int, ...] = ()
    attributes: tuple[tuple[int, bytes], ...] = ()
    inputs: tuple[Input, ...] = ()
    persistent: int = 0
    image: bytes | None = field(default=None, compare=False, repr=False)
    shared: tuple[SharedVariable, ...] = field(default=(), compare=False, repr=False)
    origins: Mapping[int, tuple[Frame, ...]] = field(
        default_factory=dict[int, tuple[Frame, ...]], compare=False, repr=False
    )

    def grid_on(self, multiprocessors: int) -> tuple[int, int, int]:
        """Return the launch grid on a device with this number of SMs; for a persistent kernel, at least one cluster.

        SMs that do not fill a whole cluster get no CTA.
        """
        blocks, y, z = self.grid
        if not self.persistent:
            return blocks, y, z
        cluster = self.cluster[0]
        most = max(multiprocessors * self.persistent // cluster, 1) * cluster
        return min(blocks, most), y, z


class Launchable(Protocol[DeclarationT_co]):
    """Interface of a kernel for runtimes.

    `Launchable[Declaration]`, with the class of `pyptx_dsl`, is a kernel of the DSL. Before the kernel is traced, its
    declaration lists the arrays and keywords that it accepts. It is None for a kernel specialized ahead of time.
    """

    @property
    def name(self) -> str:
        """Name of the kernel, for messages."""
        ...

    @property
    def declaration(self) -> DeclarationT_co:
        """Declaration of the kernel, in the class of its front end (`pyptx_dsl`)."""
        ...

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Check `arguments` (the inputs) against the kernel's contract and trace it for them; cached."""
        ...


class Fault(Protocol):
    """A fault of a simulated kernel. PTX lines count from 1, frames are innermost first."""

    @property
    def rule(self) -> str:
        """Name of the violated rule, such as `shared-race`."""
        ...

    @property
    def message(self) -> str:
        """Description of the fault, as one sentence."""
        ...

    @property
    def line(self) -> int | None:
        """Number of the faulting instruction's line in the PTX."""
        ...

    @property
    def origin(self) -> tuple[Frame, ...]:
        """Frames of user code that emitted the faulting instruction."""
        ...

    @property
    def help(self) -> str | None:
        """How to fix the fault."""
        ...


class Simulation(Protocol[ArrayT_co]):
    """Result of `kernel.simulate`; `Simulation[Tensor]` has tensors for outputs."""

    @property
    def outputs(self) -> tuple[ArrayT_co, ...]:
        """Arrays that the kernel wrote, in the order of its output specs."""
        ...

    @property
    def findings(self) -> Sequence[Fault]:
        """Findings of the checks, in order of first occurrence; empty if the kernel has no fault."""
        ...


@value
class Runtime(Value):
    """A way to run kernels: `claims` selects calls by their arguments, `call` runs the kernel.

    The runtime of highest `priority` whose `claims(args)` is true gets the call. `call(kernel, args, kwargs)` returns
    the output (or a tuple of outputs). `simulate`, if present, takes `(kernel, args, kwargs)` with the keywords
    `checks` and `seed` besides the kernel's own, and returns outputs and findings as one value. `differentiable`, if
    present, combines a forward and a backward kernel (and the keywords of `pyptx.differentiable_kernel`) into one
    function that the framework can differentiate.

    `claims` gets the arrays of a call; for a call without arrays, those of `out=`, or else the value of `device=`.

    `operator(kernel)`, if present, returns a function like the kernel's call that the framework's compiler can trace.
    `launcher(kernel, miss)` returns the function for further calls of the kernel after this runtime has handled one.
    That function handles calls with a cached launch plan directly, and passes all others to `miss`, with the call's
    arguments, including numbers.

    `capability()`, if the runtime launches on GPUs, returns the compute capability of the first one, for `arch="auto"`.
    It raises a RuntimeError with the reason if there is none. `benchmark(kernel, inputs, kwargs, runs)` times `runs`
    launches on random arrays; `inputs` are the name, PTX element type and shape of each.
    """

    name: str
    priority: int
    claims: Callable[[Sequence[object]], bool]
    call: Callable[[Launchable, Sequence[object], Mapping[str, object]], object]
    simulate: Callable[[Launchable, Sequence[object], Mapping[str, object]], Simulation] | None = None
    differentiable: Callable[..., Callable[..., object]] | None = None
    operator: Callable[[Launchable], Callable[..., object]] | None = None
    launcher: Callable[[Launchable, Callable[..., object]], Callable[..., object]] | None = None
    capability: Callable[[], tuple[int, int]] | None = None
    benchmark: Callable[..., Timings] | None = None


@value
class LaunchAttribute(Value):
    """A launch attribute of the driver, set by `@kernel(launch={name: value})`.

    `number` is its CUlaunchAttributeID. `kind` is the kind of value: `"flag"` (a bool), `"int"`, `"size"` (one to three
    sizes) or `"choice"` (one of `choices`, passed as its index). `capability` is the minimum compute capability. CUDA
    driver API: "CUlaunchAttribute".
    """

    name: str
    number: int
    kind: str
    summary: str
    capability: tuple[int, int] = (0, 0)
    choices: tuple[str, ...] = ()


@value
class Fragments(Value):
    """Register layouts of the matrix operands of an instruction.

    `instruction` is the name for `pyptx_ir.fragments.fragment_of`: `"mma"`, `"wgmma"`, `"acme.dot"`. `layout(shape,
    operand, element, order)` returns the layout of an operand, or raises ValueError if there is none.
    """

    instruction: str
    layout: Callable[[str, str, str, str], Fragment]


@value
class SimulatorExtension(Value):
    """Simulator extension of a plugin.

    `load()` returns a `pyptx_sim.extension.Extension`. It is called at the first run of a program; only it may import
    pyptx_sim and NumPy. `name` is the plugin's choice, for messages.
    """

    name: str
    load: Callable[[], object]


@value
class Command(Value):
    """A subcommand of `pyptx`: `main(argv)` gets the arguments after the name and returns the exit status.

    `parser()` returns the parser of its options, for completion in a shell. `pyptx_ir.plugins.command` returns a row
    whose module is imported when the command is used.
    """

    name: str
    summary: str
    main: Callable[[Sequence[str]], int]
    parser: Callable[[], ArgumentParser] | None = None


@value
class SugarRule(Value):
    """A rewrite of the transpiler from PTX to more idiomatic Python.

    `find(body, plan)` yields the rewrites (`pyptx_transpile.Rewrite`) proposed for the body of a function, best first;
    `plan` has the rewrites of earlier rules. Rewrites of the same statements are alternatives. `before` and `after` are
    an example: PTX and its Python. Every rewrite is verified by running the printed Python; it is rejected if the
    Python does not emit the original PTX.

    Rules of plugins apply before those of the transpiler, except a rule with `behind`: it applies directly after the
    rule of that name. After `repeat`, for example, it rewrites inside the iterations that `repeat` has found.
    """

    name: str
    summary: str
    before: str
    after: str
    find: Callable[[Any, Any], Iterable[Any]]  # Any: pyptx_transpile's classes, because it depends on pyptx_ir
    behind: str | None = None


@value
class Diagnosis(Value):
    """A line in the output of `pyptx doctor`: subject, result and hint.

    `state` is `"ok"`, `"missing"` (absent, and optional), `"warning"` (works with limitations) or `"broken"` (installed
    but not working).
    """

    subject: str
    state: str
    found: str
    help: str | None = None


@value
class DoctorCheck(Value):
    """A check of `pyptx doctor`: `run()` returns one or more `Diagnosis` rows, and may import modules."""

    name: str
    run: Callable[[], Sequence[Diagnosis]]
