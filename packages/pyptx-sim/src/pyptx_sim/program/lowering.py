"""Lower one entry of a module, with all that it can reach, to a `Program`."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Alias, Block, Function, Instruction, Module, Target, Variable
from pyptx_ir.syntax.operands import Immediate
from pyptx_sim.errors import ProgramError
from pyptx_sim.literals import parse_literal
from pyptx_sim.program.callgraph import CallGraph
from pyptx_sim.program.flatten import Flattener, Numbers
from pyptx_sim.program.flow import basic_blocks
from pyptx_sim.program.images import ImageBuilder
from pyptx_sim.program.layout import Region, SharedRegion, aligned, shape_of
from pyptx_sim.program.params import instructions_of
from pyptx_sim.program.program import FIRST_SLOT, FunctionLayout, Program, SharedLayout
from pyptx_sim.program.scopes import FunctionBinding, Placement, Scope
from pyptx_sim.program.windows import FIRST_OFFSET, SHARED_BASE

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of a multiprocessor, from sm_75 on; a thread has them in steps. (CUDA C++ Programming Guide, "Compute Capabilities".)
_REGISTERS, _MOST_REGISTERS, _REGISTER_STEP = 65536, 256, 8
# What a thread gets for a stack whose depth is not known beforehand (recursion, alloca); CUDA's default is 1 KiB.
_OPEN_STACK = 64 << 10


class _Key:
    """A module as a cache key: compared by identity, since hashing a tree costs a walk over it."""

    __slots__ = ("module",)

    def __init__(self, module: Module) -> None:
        self.module = module

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.module is self.module

    def __hash__(self) -> int:
        return id(self.module)


def lower(module: Module, entry: str | None = None, *, any_form: bool = False) -> Program:
    """Lower `entry` of `module` (its only one, if None); cached for the module object. `any_form`: see `Program`.

    Raises ProgramError for a missing or ambiguous entry and for declarations that cannot be placed.
    """
    return _lower(_Key(module), entry, any_form=any_form)


@lru_cache(maxsize=64)
def _lower(key: _Key, entry: str | None, *, any_form: bool) -> Program:
    return _Lowering(key, entry, any_form=any_form).program()


@lru_cache(maxsize=64)
def _calls(key: _Key) -> CallGraph:
    """Return who calls whom; cached, since every entry of a module asks for the calls of all its functions."""
    return CallGraph(key.module, _definitions(key.module))


class _Lowering:
    def __init__(self, key: _Key, entry: str | None, *, any_form: bool) -> None:
        self._key = key
        self._any_form = any_form
        self._module = key.module
        self._functions = _definitions(key.module)
        self._entry = _pick_entry(self._functions, entry)
        self._scope = Scope()
        self._numbers = Numbers(FIRST_SLOT)
        self._shared = SharedRegion(Region("shared", SHARED_BASE))
        self._images = ImageBuilder()

    def program(self) -> Program:
        graph = _calls(self._key)
        order = graph.reachable_from(self._entry.name)
        self._bind_functions(order)
        self._bind_variables()
        layouts = self._flatten(graph, order)
        globals_, constants = self._images.images({name: layout.index for name, layout in layouts.items()})
        sites, entry = tuple(self._numbers.sites), layouts[self._entry.name]
        parameters = tuple(binding for binding in entry.parameters if isinstance(binding, Placement))
        return Program(
            module=self._module,
            entry=entry,
            parameters=parameters,
            parameter_bytes=max((place.offset + place.size for place in parameters), default=0),
            functions=layouts,
            sites=sites,
            blocks=basic_blocks(layouts.values(), sites, self._numbers.label_pcs.values()),
            labels=dict(self._numbers.label_pcs),
            slots=self._numbers.slots,
            globals=globals_,
            constants=constants,
            shared=self._shared_layout(),
            local_size=self._local_size(graph, layouts),
            target=_target(self._module),
            dynamic_stack="alloca" in self._opcodes(),
            required_block=_extent(self._entry, "reqntid"),
            largest_block=_extent(self._entry, "maxntid"),
            required_cluster=_extent(self._entry, "reqnctapercluster"),
            largest_cluster=_extent(self._entry, "maxclusterrank"),
            counts_clusters=_extent(self._entry, "blocksareclusters") is not None,
            registers=_registers(self._entry),
            any_form=self._any_form,
        )

    def _bind_functions(self, order: tuple[str, ...]) -> None:
        reached = set(order)
        for name in order:
            self._scope.bind(name, FunctionBinding(name))
        for node in self._module.body:
            if isinstance(node, Alias) and node.aliasee in reached:
                self._scope.bind(node.name, FunctionBinding(node.aliasee))

    def _bind_variables(self) -> None:
        for node in self._module.body:
            if isinstance(node, Variable):
                self._bind_variable(node, self._scope)

    def _bind_variable(self, variable: Variable, scope: Scope) -> None:
        if variable.space.partition("::")[0] != "shared":
            self._images.declare(variable, scope)
            return
        for declarator in variable.declarators:
            shape = shape_of(variable.type, variable.vector, declarator.dimensions, variable.alignment)
            scope.bind(
                declarator.name, self._shared.place(declarator.name, shape, dynamic=variable.linking == "extern")
            )

    def _flatten(self, graph: CallGraph, order: tuple[str, ...]) -> dict[str, FunctionLayout]:
        ordinals = _first_ordinals(self._module)
        layouts: dict[str, FunctionLayout] = {}
        for index, name in enumerate(order):
            function = self._functions[name]
            flattener = Flattener(function, self._scope, self._numbers, self._shared, ordinals[id(function)])
            layouts[name] = _framed(flattener.lower(index), recursive=graph.is_recursive(name))
            for variable, scope in flattener.static_variables:
                self._bind_variable(variable, scope)
        return layouts

    def _shared_layout(self) -> SharedLayout:
        end = self._shared.static.end
        return SharedLayout(end, aligned(end, self._shared.alignment), tuple(self._shared.placements))

    def _opcodes(self) -> set[str]:
        return {site.instruction.opcode[0] for site in self._numbers.sites}

    def _local_size(self, graph: CallGraph, layouts: dict[str, FunctionLayout]) -> int:
        frames = {name: aligned(layout.frame_size, 16) for name, layout in layouts.items()}
        deepest = graph.deepest(self._entry.name, frames)
        if deepest is None or "alloca" in self._opcodes():
            return _OPEN_STACK + sum(frames.values())
        return aligned(FIRST_OFFSET + deepest, 16) if deepest else FIRST_OFFSET


def _framed(layout: FunctionLayout, *, recursive: bool) -> FunctionLayout:
    """Give a recursive function a frame in any case, so that an endless recursion runs out of stack."""
    return replace(layout, recursive=True, frame_size=max(layout.frame_size, 16)) if recursive else layout


def _definitions(module: Module) -> dict[str, Function]:
    """Return the functions by name; a definition wins over its declarations."""
    functions: dict[str, Function] = {}
    for node in module.body:
        if isinstance(node, Function) and (node.body is not None or node.name not in functions):
            functions[node.name] = node
    return functions


def _pick_entry(functions: dict[str, Function], entry: str | None) -> Function:
    entries = [function for function in functions.values() if function.kind == "entry" and function.body is not None]
    names = ", ".join(function.name for function in entries) or "none"
    if entry is None:
        if len(entries) != 1:
            raise ProgramError(f"the module has {len(entries)} entries ({names})", hint="name one with entry=")
        return entries[0]
    for function in entries:
        if function.name == entry:
            return function
    raise ProgramError(f"the module defines no entry named {entry}", hint=f"its entries: {names}")


def _first_ordinals(module: Module) -> dict[int, int]:
    """Map the identity of each function node to the number of its first instruction, in reading order."""
    ordinals: dict[int, int] = {}
    count = 0
    for node in module.body:
        if isinstance(node, Function):
            ordinals[id(node)] = count
            count += sum(1 for _ in _instructions(node.body))
    return ordinals


def _instructions(body: Block | None) -> Iterator[Instruction]:
    return instructions_of(body) if body is not None else iter(())


def _extent(entry: Function, directive: str) -> tuple[int, ...] | None:
    """Return the numbers of a header directive, or None where it is absent."""
    for found in entry.directives:
        if found.name.lstrip(".") == directive:
            return tuple(int(parse_literal(word.text)) for word in found.arguments if isinstance(word, Immediate))
    return None


def _registers(entry: Function) -> int | None:
    """Return how many registers ptxas lets each thread have; None where nothing in the header says so.

    ptxas 13.0 gives a kernel that deals in registers as many as the block's directives allow, and drops the deals
    (C7508) where `.maxnreg` is absent, and `.minnctapersm` with the threads of a block.
    """
    asked = _extent(entry, "maxnreg")
    limits = [] if asked is None else [-(-asked[0] // _REGISTER_STEP) * _REGISTER_STEP]
    blocks, threads = _extent(entry, "minnctapersm"), _extent(entry, "reqntid") or _extent(entry, "maxntid")
    if blocks is not None and threads is not None:
        share = _REGISTERS // max(blocks[0] * prod(threads), 1)
        limits.append(min(share // _REGISTER_STEP * _REGISTER_STEP, _MOST_REGISTERS))
    return min(limits, default=None)


def _target(module: Module) -> str:
    return next((node.names[0] for node in module.body if isinstance(node, Target) and node.names), "sm_75")
