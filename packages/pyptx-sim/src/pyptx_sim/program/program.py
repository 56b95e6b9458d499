"""Lowered programs: flat lists of instructions with resolved names, which the simulated machine executes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyptx_ir.debug_info import instruction_frames
from pyptx_ir.isa.binding import bound, nearest
from pyptx_ir.syntax import Source, emit, positions, spell
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.operands import CallList, Pair, Register, Symbol, Vector
from pyptx_sim.errors import ProgramError
from pyptx_sim.extension.registry import step_of
from pyptx_sim.origins import SourceLocation
from pyptx_sim.program.scopes import RegisterBinding, VectorBinding
from pyptx_sim.program.windows import FIRST_OFFSET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyptx_ir.isa.binding import Bound
    from pyptx_ir.plugins.rows import Frame
    from pyptx_ir.syntax.nodes import Module
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.extension.step import InstructionSemantics
    from pyptx_sim.numerics.sampling import Sampler
    from pyptx_sim.program.scopes import Binding, Placement, Scope

# Register slots without a PTX name: the offsets in local memory of the running function's frame and of the first free
# byte above it, and the carry flag. Manual: "Extended-Precision Integer Arithmetic Instructions".
FRAME_SLOT, STACK_SLOT, CARRY_SLOT = 0, 1, 2
FIRST_SLOT = 3

ALL_BYTES = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Site:
    """Instruction at `pc`; `ordinal`: its number in reading order of the modules (-1: not in a module's text).

    `used_bytes`: mask of the loaded bytes that the program uses. Manual: "Pragma Strings: used_bytes_mask".
    """

    pc: int
    instruction: Instruction
    scope: Scope
    function: str
    ordinal: int
    used_bytes: int = ALL_BYTES


@dataclass(frozen=True, slots=True)
class FunctionLayout:
    """Lowered function of a program.

    `recursive`: the function may be called again while it runs, so calls in it save the registers in `slots`. `body`:
    the half-open range of its pcs, empty for an `.extern` function, which the simulator implements by name.
    """

    name: str
    index: int
    parameters: tuple[Binding, ...] = ()
    returns: tuple[Binding, ...] = ()
    frame_size: int = 0
    slots: range = range(0)
    body: range = range(0)
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Basic block: pcs `[first, last)`; `ends`: the last instruction is a terminator.

    `gate`: the block starts with an instruction at which the lanes of a warp wait for each other. `converges`: the
    warps of a warpgroup wait for each other before the block.
    """

    index: int
    first: int
    last: int
    ends: bool
    gate: bool
    converges: bool = False


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Shared memory of one CTA: `end` of the static variables, and `dynamic`, the start of dynamic shared memory."""

    end: int
    dynamic: int
    placements: tuple[Placement, ...]


@dataclass(frozen=True, slots=True)
class Image:
    """Initial bytes of the variables of a space, from offset `start`, and the placements of the variables."""

    data: bytes
    placements: tuple[Placement, ...]
    start: int = 0


# Opcodes of loads and stores; slots (in the instruction table) of modifiers that make them strong. Manual: "Memory
# Consistency Model".
_MOVES = frozenset({"ld", "st"})
_STRONG = frozenset({"sem", "volatile"})
_UPDATES = frozenset({"atom", "red"})
_NARROW = frozenset({"cta", "cluster"})


@dataclass(frozen=True, eq=False)
class Program:
    """One entry of linked modules with all code that it can reach, names resolved and variables placed.

    - `local_size`: bytes of local memory of a thread. `dynamic_stack`: a function allocates local memory at run time
      (`alloca`).
    - `required_block`, `largest_block`: the entry's `.reqntid` and `.maxntid`.
    - `required_cluster`, `largest_cluster`: its `.reqnctapercluster` and `.maxclusterrank`. `counts_clusters`: the grid
      of a launch counts clusters (`.blocksareclusters`).
    - `registers`: registers per thread at launch, if known.
    - `workspace`: offset in the global space of a cooperative grid's workspace, if the program reads its address.
    - `samplers`: samplers that the modules initialize, by their offsets in the global space.
    - `closest_form`: an instruction that matches no row of the instruction table is read as the closest form.
    """

    modules: tuple[Module, ...]
    entry: FunctionLayout
    parameters: tuple[Placement, ...]
    parameter_bytes: int
    functions: dict[str, FunctionLayout]
    sites: tuple[Site, ...]
    blocks: tuple[BlockRange, ...]
    labels: dict[int, int]
    slots: int
    globals: Image
    constants: Image
    shared: SharedLayout
    local_size: int
    target: str
    dynamic_stack: bool
    required_block: tuple[int, ...] | None
    largest_block: tuple[int, ...] | None
    required_cluster: tuple[int, ...] | None
    largest_cluster: tuple[int, ...] | None
    counts_clusters: bool
    registers: int | None
    workspace: int | None
    closest_form: bool
    samplers: Mapping[int, Sampler]

    @property
    def uses_stack(self) -> bool:
        """Whether any function uses local memory."""
        return self.local_size > FIRST_OFFSET

    @cached_property
    def block_of(self) -> dict[int, int]:
        """Index of each basic block by the pc of its first instruction."""
        return {block.first: block.index for block in self.blocks}

    @cached_property
    def forms(self) -> tuple[Bound | None, ...]:
        """Each instruction bound to its row of the instruction table, by pc; None if no row matches."""
        forms = [bound(site.instruction, site.scope.declared) for site in self.sites]
        if self.closest_form:
            forms = [form or nearest(site.instruction) for site, form in zip(self.sites, forms, strict=True)]
        return tuple(forms)

    @cached_property
    def written(self) -> frozenset[int]:
        """Slots of the registers that any instruction may write, including parameters of functions (by calls)."""
        formal = (each for layout in self.functions.values() for each in layout.parameters)
        parts = (part for each in formal for part in (each.components if isinstance(each, VectorBinding) else (each,)))
        slots = {part.slot for part in parts if isinstance(part, RegisterBinding)}
        for site, form in zip(self.sites, self.forms, strict=True):
            targets = () if form is None else (form.operands[name] for name in form.written)
            for name in (name for operand in targets for name in _names(operand)):
                # A video instruction may write a part of a register, `%r1.b0`; others write whole registers.
                found = site.scope.find(name) or site.scope.find(name.rpartition(".")[0])
                every = found.components if isinstance(found, VectorBinding) else (found,)
                slots.update(part.slot for part in every if isinstance(part, RegisterBinding))
        return frozenset(slots)

    @cached_property
    def signals(self) -> tuple[int, ...]:
        """Pcs of the instructions that arrive at mbarriers or change their tx-count."""
        return tuple(site.pc for site, form in zip(self.sites, self.forms, strict=True) if _signals(site, form))

    @cached_property
    def moves_strongly(self) -> bool:
        """Whether any load or store is strong, so that threads may observe each other while they run."""
        moves = (
            form for site, form in zip(self.sites, self.forms, strict=True) if site.instruction.opcode[0] in _MOVES
        )
        return any(form is not None and not _STRONG.isdisjoint(form.words) for form in moves)

    @cached_property
    def controls_dependents(self) -> bool:
        """Whether the program orders itself with dependent or prerequisite grids. Manual: "griddepcontrol"."""
        return any(site.instruction.opcode[0] == "griddepcontrol" for site in self.sites)

    @cached_property
    def cancels_launches(self) -> bool:
        """Whether running clusters may cancel clusters that have not been launched and take over their work."""
        return any(step.cancels_launches for step in self._steps())

    @cached_property
    def fences_reads(self) -> bool:
        """Whether any asynchronous write requires a fence after earlier reads by warps."""
        return any(step.fences_reads for step in self._steps())

    def _steps(self) -> Iterator[InstructionSemantics]:
        """Yield the `InstructionSemantics` of each instruction that has one."""
        steps = (step_of(site.instruction.opcode) for site in self.sites)
        return (step for step in steps if step is not None)

    @cached_property
    def narrows_scopes(self) -> bool:
        """Whether any load, store or atomic has `.cta` or `.cluster` scope."""
        accesses = (form for site, form in zip(self.sites, self.forms, strict=True) if _is_access(site))
        return any(form is not None and form.words.get("scope") in _NARROW for form in accesses)

    @cached_property
    def _places(self) -> list[SourceLocation]:
        # Emits and scans the whole PTX text, so only messages use this property.
        found: list[SourceLocation] = []
        for number, module in enumerate(self.modules):
            source = Source(emit(module))
            spans = (span for node, span in positions(module) if isinstance(node, Instruction))
            which = number if len(self.modules) > 1 else None
            found += [SourceLocation(source.line_column(span.start)[0], which) for span in spans]
        return found

    @cached_property
    def _frames(self) -> list[tuple[Frame, ...]]:
        # Only messages use this property, so a run without findings does not read the `.loc` of its modules.
        return [frames for module in self.modules for frames in instruction_frames(module)]

    def label_block(self, key: int) -> int:
        """Return the index of the basic block that follows the label with number `key`."""
        return self.block_of[self.labels[key]]

    def entry_block(self, function: str) -> int:
        """Return the index of a function's first basic block."""
        body = self.functions[function].body
        if not body:
            raise ProgramError(f"undefined function {function}")
        return self.block_of[body.start]

    def line(self, pc: int) -> int | None:
        """Return the physical PTX line (from 1) of an instruction; None if it is not in the source."""
        place = self.place(pc)
        return None if place is None else place.line

    def place(self, pc: int) -> SourceLocation | None:
        """Return the PTX line and the module of an instruction; None if it is not in the source."""
        ordinal = self.sites[pc].ordinal if 0 <= pc < len(self.sites) else -1
        return self._places[ordinal] if ordinal >= 0 else None

    def frames(self, pc: int) -> tuple[Frame, ...]:
        """Return the source lines of an instruction from the module's `.loc`, innermost first; empty without one."""
        ordinal = self.sites[pc].ordinal if 0 <= pc < len(self.sites) else -1
        return self._frames[ordinal] if ordinal >= 0 else ()

    def opcode(self, pc: int) -> str:
        """Return the opcode of an instruction, with its modifiers; empty for a pc outside the program."""
        return ".".join(self.sites[pc].instruction.opcode) if 0 <= pc < len(self.sites) else ""

    def spell(self, pc: int) -> str:
        """Return the canonical source text of an instruction."""
        return spell(self.sites[pc].instruction).strip()

    def where(self, pc: int) -> str:
        """Return the source location and text of an instruction, for an error."""
        return f"PTX {self.place(pc)}, in {self.sites[pc].function}: {self.spell(pc)}"


def _is_access(site: Site) -> bool:
    return site.instruction.opcode[0] in _MOVES | _UPDATES


def _signals(site: Site, form: Bound | None) -> bool:
    step = step_of(site.instruction.opcode)
    if step is None or isinstance(step.signals_mbarrier, bool):
        return step is not None and bool(step.signals_mbarrier)
    return form is not None and step.signals_mbarrier in form.words.values()


def _names(operand: Operand) -> Iterator[str]:
    """Yield the names in an operand that may be registers, including those in vectors, pairs and lists."""
    if isinstance(operand, Register | Symbol):
        yield operand.name
    elif isinstance(operand, Vector | CallList):
        yield from (name for element in operand.elements for name in _names(element))
    elif isinstance(operand, Pair):
        yield from (*_names(operand.first), *_names(operand.second))
