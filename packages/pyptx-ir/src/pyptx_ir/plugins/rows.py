"""What plugins hand in, and the values that a kernel and a runtime exchange.

All of them are immutable, and none of them needs NumPy, torch or jax to be imported: a plugin module is loaded long
before (and often without) the framework that it serves.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyptx_ir.deprecated import moved_names
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import TypeVar  # checkers bring its stub; only theirs knows defaults before Python 3.13

    from pyptx_ir.fragments.layout import Fragment
    from pyptx_ir.syntax.nodes import Module

    ArrayT_co = TypeVar("ArrayT_co", covariant=True, default=object)
    # Any, because each runtime names the declaration of the front end that it stands on; the rows hold them all.
    DeclarationT_co = TypeVar("DeclarationT_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    ArrayT_co = TypeVar("ArrayT_co", covariant=True)
    DeclarationT_co = TypeVar("DeclarationT_co", covariant=True)


@value
class Frame(Value):
    """One line of user code: where an instruction was written."""

    file: str
    line: int
    function: str


@value
class Argument(Value):
    """What a runtime knows of one array argument, without the array.

    `shape` counts elements; `strides` counts elements too; `dtype` is the PTX name (`"f32"`, `"bf16"`, …);
    `address` is the address of the first byte, for the check of alignment; `device` is `"cpu"`, `"cuda:0"`, ….
    """

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    address: int = 0
    device: str = "cpu"


@value
class Im2col(Value):
    """What a tensor copy takes in im2col mode in place of a box. Manual: "Tensors", "Im2col mode".

    The tensor is N x (D x H x) W x C, innermost last; a copy takes `pixels` pixels in that order, and `channels`
    elements of each. `lower` and `upper` have an offset for each of D, H and W: pixels are counted in the box from
    `lower` to the last pixel of the tensor plus `upper`.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


# The words of a TensorMap, each in the order of the driver's enumeration.
SWIZZLES: Final = ("none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B")
INTERLEAVES: Final = ("none", "16B", "32B")
L2_PROMOTIONS: Final = ("none", "64B", "128B", "256B")
FILLS: Final = ("zeros", "nan")
# A keyword of a runtime's `call` that no kernel can have: the arrays of `out=` were allocated for this call, so that
# the kernel is to write every element of them.
ALLOCATED: Final = "out is allocated"


@value
class TensorMap(Value):
    """What a TMA descriptor says of a tensor, but for its address. CUDA driver API: "Tensor Map Object Management".

    Dimensions stand as in the array's shape, the innermost last; the driver wants them the other way round. `strides`
    are bytes, `box` and `element_strides` count elements, `dtype` is the PTX name, or one of `PACKED_ELEMENTS`, whose
    innermost stride is 1. `swizzle` is one of `SWIZZLES`,
    `interleave` of `INTERLEAVES`; `l2_promotion`, of `L2_PROMOTIONS`, is how much of a line the L2 cache fetches for a
    part of it; `fill`, of `FILLS`, is for what lies out of bounds. With `im2col`, `box` is empty.
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
    """One `.param` of the entry, in order.

    `kind` is `"tensor"` (a pointer; `index` counts inputs then outputs), `"scalar"` (`value` is what the call passed,
    `type` its PTX type) or `"descriptor"` (of the tensor `index`, which `descriptor` describes: a TensorMap, or another
    value of a `DescriptorKind`; of type `"b8"` it is passed by value, of type `"u64"` as a pointer to device memory).
    """

    name: str
    kind: str
    type: str
    index: int | None = None
    value: int | float | None = None
    descriptor: object | None = None


@value
class Input(Value):
    """One array that a call passes; `strides` count elements, `alignment` is what its address must be a multiple of."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    alignment: int


@value
class Output(Value):
    """One array that the runtime allocates, uninitialised, and returns; `strides` count elements.

    The address of an array that the caller passes instead must be a multiple of `alignment`.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    alignment: int = 1


@value
class SharedVariable(Value):
    """An allocation inside dynamic shared memory: `size` bytes, `offset` bytes behind its beginning."""

    name: str
    offset: int
    size: int


@value
class Specialization(Value):
    """A kernel traced for given shapes and template values: all that a runtime needs to launch it.

    `shared_bytes` is the dynamic shared memory to ask for at launch. `mutated` are the indices of the inputs that the
    kernel writes to. `attributes` are launch attributes beside the cluster, as pairs of a CUlaunchAttributeID and the
    bytes of its value. `inputs` are what the contract asks of the arrays; empty for a kernel without one. `image` is
    machine code that was made ahead of time. `shared` are the user's allocations in dynamic shared memory, for
    messages. `origins` maps a physical line of `text` (from 1) to the user's frames, innermost first.

    Of a persistent kernel, whose blocks go through all of the work, however few they are, `persistent` is how many
    blocks each multiprocessor is to have at most, 0 of any other: runtimes launch `grid_on` their device.
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
        """Return the grid on a device of so many multiprocessors: of a persistent kernel, whole clusters, one at least.

        Where multiprocessors are left over by clusters, they stay without a block.
        """
        blocks, y, z = self.grid
        if not self.persistent:
            return blocks, y, z
        cluster = self.cluster[0]
        most = max(multiprocessors * self.persistent // cluster, 1) * cluster
        return min(blocks, most), y, z


class Launchable(Protocol[DeclarationT_co]):
    """What a runtime may ask of a kernel.

    `Launchable[Declaration]`, with the class of `pyptx_dsl`, is a kernel of the DSL: its declaration tells what arrays
    and keywords it takes before it is traced. What was specialised ahead of time has None for a declaration.
    """

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""
        ...

    @property
    def declaration(self) -> DeclarationT_co:
        """What the kernel was declared with, as its front end keeps it."""
        ...

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        """Check `arguments` (the inputs) against the kernel's contract and trace it for them; cached."""
        ...


class Fault(Protocol):
    """One thing that a simulated kernel does wrong; PTX lines count from 1, frames are innermost first."""

    @property
    def rule(self) -> str:
        """The rule that it breaks, such as `shared-race`."""
        ...

    @property
    def message(self) -> str:
        """What is wrong, in a sentence."""
        ...

    @property
    def line(self) -> int | None:
        """The PTX line of the instruction at fault."""
        ...

    @property
    def origin(self) -> tuple[Frame, ...]:
        """The user's frames of that instruction."""
        ...

    @property
    def hint(self) -> str | None:
        """What to do about it."""
        ...


class Simulation(Protocol[ArrayT_co]):
    """What `kernel.simulate` returns; `Simulation[Tensor]` has tensors for outputs."""

    @property
    def outputs(self) -> tuple[ArrayT_co, ...]:
        """The arrays that the kernel wrote, in the order of its output specs."""
        ...

    @property
    def findings(self) -> Sequence[Fault]:
        """What the checks found, in order of first sight; empty for a clean kernel."""
        ...


@value
class Runtime(Value):
    """A way to run kernels: which arguments it claims, and how it calls.

    The runtime of highest `priority` whose `claims(args)` is true is asked. `call(kernel, args, kwargs)` returns the
    output (or a tuple of outputs). `simulate`, where a runtime has it, takes `(kernel, args, kwargs)` with the keywords
    `checks` and `seed` beside the kernel's own, and returns outputs and findings as one value. `differentiable`, where
    a runtime has it, joins a forward and a backward kernel (and the keywords of `pyptx.differentiable_kernel`) into one
    function that the framework can differentiate.

    `claims` gets the arrays of a call; of a call without any, the arrays of `out=`, or else the value of `device=`.

    `operator(kernel)`, where a runtime has it, returns a function like the kernel's call that the framework's compiler
    can trace through. `launcher(kernel, miss)` returns what a call goes to directly once this runtime has answered one:
    it does what it knows at once and hands everything else to `miss`, with the call's arguments, numbers too.

    `capability()`, where a runtime launches on GPUs, returns the compute capability of the first one; it raises a
    RuntimeError that says why there is none. `arch="auto"` asks it.
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


@value
class LaunchAttribute(Value):
    """A launch attribute of the driver: `@kernel(launch={name: value})` sets it.

    `number` is its CUlaunchAttributeID. `kind` says what a value is: `"flag"` (a bool), `"int"`, `"size"` (one to three
    sizes) or `"choice"` (one of `choices`, passed as its position). `capability` is the least compute capability.
    CUDA driver API: "CUlaunchAttribute".
    """

    name: str
    number: int
    kind: str
    summary: str
    capability: tuple[int, int] = (0, 0)
    choices: tuple[str, ...] = ()


@value
class Fragments(Value):
    """Which element of a matrix lies in which register of which lane, for the operands of an instruction.

    `instruction` is what `pyptx_ir.fragments.fragment_of` asks for: `"mma"`, `"wgmma"`, `"acme.dot"`.
    `layout(shape, operand, element, order)` returns the layout of one, or raises ValueError where there is none.
    """

    instruction: str
    layout: Callable[[str, str, str, str], Fragment]


@value
class SimulatorExtension(Value):
    """What a plugin brings to the simulator.

    `load()` returns a `pyptx_sim.extension.Extension`; it is called when a program is first run, and alone may import
    pyptx_sim and NumPy. `name` is the plugin's choice, for messages.
    """

    name: str
    load: Callable[[], object]


@value
class Command(Value):
    """A subcommand of `pyptx`: `main(argv)` gets the words behind the name and returns the exit status."""

    name: str
    summary: str
    main: Callable[[Sequence[str]], int]


@value
class SugarRule(Value):
    """A way of saying PTX in better Python, for the transpiler.

    `find(body, plan)` yields the `pyptx_transpile.Claim`s that the rule would make on the body of a function, the best
    first; `plan` has those of the rules before it. Claims to one place are alternatives. `before` and `after` are an
    example, of PTX and of the Python for it. Every use is proved by running what was printed, and withdrawn where it
    does not emit its source.

    Rules of plugins are asked in front of those that the transpiler brings, but for one that stands `behind` another:
    behind `function`, say, it sees what is repeated, and finds its sites in each turn.
    """

    name: str
    summary: str
    before: str
    after: str
    find: Callable[[Any, Any], Iterable[Any]]  # Any: Body, Plan and Claim of pyptx_transpile, which the core lacks
    behind: str | None = None


@value
class Diagnosis(Value):
    """A line of `pyptx doctor`: what was looked at, what was found, and what to do about it.

    `state` is `"ok"`, `"missing"` (not here, and not needed by everyone), `"warning"` (works, and not as it should) or
    `"broken"` (here, and does not work).
    """

    subject: str
    state: str
    found: str
    hint: str | None = None


@value
class DoctorCheck(Value):
    """Something that `pyptx doctor` looks at: `run()` returns a line or several, and may import what it needs."""

    name: str
    run: Callable[[], Sequence[Diagnosis]]


if not TYPE_CHECKING:
    __getattr__ = moved_names(
        __name__,
        {
            "Examination": "pyptx_ir.plugins.rows.DoctorCheck",
            "Semantics": "pyptx_ir.plugins.semantics.Semantics",
        },
    )
