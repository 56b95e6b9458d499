"""Lowering of one kernel entry of linked modules, with all functions that it can reach, to a `Program`."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax.nodes import Module, Target
from pyptx_ir.syntax.operands import Immediate, Register
from pyptx_sim.errors import Declaring, ProgramError
from pyptx_sim.literals import parse_literal
from pyptx_sim.origins import place_of
from pyptx_sim.program.callgraph import CallGraph
from pyptx_sim.program.flatten import Flattener, Numbers, static_variables
from pyptx_sim.program.flow import basic_blocks
from pyptx_sim.program.images import ImageBuilder
from pyptx_sim.program.layout import MOST_BYTES, SharedRegion, SpaceAllocator, aligned, numbered, variable_shape
from pyptx_sim.program.linking import link
from pyptx_sim.program.program import FIRST_SLOT, FunctionLayout, Program, SharedLayout
from pyptx_sim.program.scopes import FunctionBinding, Placement, Scope
from pyptx_sim.program.windows import FIRST_OFFSET, SHARED_BASE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.syntax.nodes import Function, Variable
    from pyptx_sim.program.linking import Linked, LinkedFunction

# Number of registers per SM (from sm_75 on), limit per thread, allocation granularity per thread. CUDA C++ Programming
# Guide: "Compute Capabilities".
_REGISTERS, _MOST_REGISTERS, _REGISTER_STEP = 65536, 256, 8
# Stack bytes of a thread if the stack depth is unknown before execution (recursion, alloca); CUDA's default is 1 KiB.
_OPEN_STACK = 64 << 10
# Initial bytes of a cooperative grid's workspace: its size in bytes, and the grid barrier's word, zero
# (docs/internals/compilers.md).
_WORKSPACE = struct.pack("<II", 8, 0)


class _Key:
    """Cache key for modules, compared by identity, because hashing a syntax tree would visit all its nodes."""

    __slots__ = ("modules",)

    def __init__(self, modules: tuple[Module, ...]) -> None:
        self.modules = modules

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and tuple(map(id, other.modules)) == tuple(map(id, self.modules))

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.modules)))


def lower(
    modules: Module | Sequence[Module],
    entry: str | None = None,
    target: str | None = None,
    *,
    closest_form: bool = False,
    globals_start: int = 0,
) -> Program:
    """Lower kernel `entry` (None: the only one) of a module or of several linked modules to a `Program`.

    The target is the module's `.target`, unless `target` is given. `closest_form`: see `Program`. `globals_start`:
    offset in global memory from which on variables are placed. Results are cached by the identity of the module
    objects. Raise ProgramError for a missing or ambiguous entry, for linking errors, and for
    variables that exceed the memory of their state space.
    """
    several = (modules,) if isinstance(modules, Module) else tuple(modules)
    return _lower(_Key(several), entry, target, closest_form=closest_form, globals_start=globals_start)


@lru_cache(maxsize=64)
def _lower(key: _Key, entry: str | None, target: str | None, *, closest_form: bool, globals_start: int) -> Program:
    try:
        return _Lowering(key, entry, target, globals_start, closest_form=closest_form).program()
    except ProgramError as error:
        if error.statement is not None:
            place, line = place_of(error.statement, key.modules)
            error.locate(f"PTX {place}: {line}", place.line)
        raise


@lru_cache(maxsize=64)
def _linked(key: _Key) -> tuple[Linked, CallGraph]:
    """Return the linked modules and their call graph; cached, since lowering any entry needs all functions."""
    linked = link(key.modules)
    return linked, CallGraph(linked)


class _Lowering:
    def __init__(
        self, key: _Key, entry: str | None, target: str | None, globals_start: int, *, closest_form: bool
    ) -> None:
        self._any_form, self._given_target = closest_form, target
        self._linked, self._graph = _linked(key)
        self._entry = _pick_entry(self._linked.functions, entry)
        self._scopes = tuple(Scope() for _ in key.modules)
        self._indices = {name: number for number, name in enumerate(self._linked.functions)}
        self._numbers = Numbers(FIRST_SLOT)
        self._shared = SharedRegion(SpaceAllocator("shared", SHARED_BASE))
        self._images = ImageBuilder(globals_start)

    def program(self) -> Program:
        order = self._graph.reachable_from(self._entry.name)
        self._bind_functions()
        self._bind_variables()
        layouts = self._flatten(order)
        workspace = self._workspace()
        globals_, constants = self._images.images(self._indices)
        sites, entry = tuple(self._numbers.sites), layouts[self._entry.name]
        parameters = tuple(binding for binding in entry.parameters if isinstance(binding, Placement))
        return Program(
            modules=self._linked.modules,
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
            local_size=self._local_size(layouts),
            target=self._target(entry.name),
            dynamic_stack="alloca" in self._opcodes(),
            required_block=_extent(self._entry, "reqntid"),
            largest_block=_extent(self._entry, "maxntid"),
            required_cluster=_extent(self._entry, "reqnctapercluster"),
            largest_cluster=_extent(self._entry, "maxclusterrank"),
            counts_clusters=_extent(self._entry, "blocksareclusters") is not None,
            registers=_registers(self._entry),
            workspace=workspace,
            closest_form=self._any_form,
            samplers=self._images.samplers(),
        )

    def _target(self, entry: str) -> str:
        """Return the name of the target: the argument `target`, or the `.target` of the entry's module."""
        module = self._linked.modules[self._linked.functions[entry].module]
        named = next((node for node in module.body if isinstance(node, Target) and node.names), None)
        if self._given_target is not None or named is None:
            return manager().target(self._given_target or "sm_75").name
        try:
            return manager().target(named.names[0]).name
        except TargetError as error:
            unknown = ProgramError(error.message, help=error.help)
            unknown.statement = named
            raise unknown from error

    def _bind_functions(self) -> None:
        for scope, keys in zip(self._scopes, self._linked.keys, strict=True):
            for name, key in keys.items():
                scope.bind(name, FunctionBinding(key))

    def _bind_variables(self) -> None:
        for module, variable in self._linked.variables:
            self._bind_variable(variable, self._scopes[module])
        for scope, imports in zip(self._scopes, self._linked.imports, strict=True):
            for name, module in imports.items():
                found = self._scopes[module].own(name)
                if found is not None:
                    scope.bind(name, found)

    def _bind_variable(self, variable: Variable, scope: Scope) -> None:
        with Declaring(variable):
            if variable.space.partition("::")[0] != "shared":
                self._images.declare(variable, scope)
                return
            for declarator in numbered(variable):
                shape, is_dynamic = variable_shape(variable, declarator), variable.linking == "extern"
                scope.bind(declarator.name, self._shared.place(declarator.name, shape, dynamic=is_dynamic))

    def _flatten(self, order: tuple[str, ...]) -> dict[str, FunctionLayout]:
        layouts: dict[str, FunctionLayout] = {}
        static: dict[str, list[tuple[Variable, Scope]]] = {}
        for name in order:
            function = self._linked.functions[name]
            scope = self._scopes[function.module]
            flattener = Flattener(function.node, scope, self._numbers, self._shared, function.ordinal)
            layouts[name] = _framed(flattener.lower(self._indices[name]), recursive=self._graph.is_recursive(name))
            static[name] = flattener.static_variables
        # also place variables of unreached functions: offsets are the same for every entry
        for name, function in self._linked.functions.items():
            scope = Scope(self._scopes[function.module])
            unreached = ((variable, scope) for variable in static_variables(function.node))
            for variable, inner in static.get(name, unreached):
                self._bind_variable(variable, inner)
        return layouts

    def _workspace(self) -> int | None:
        """Place a workspace for the CTAs of a cooperative grid in global memory, if the program reads %envreg1.

        Return its offset, or None.
        """
        operands = (operand for site in self._numbers.sites for operand in site.instruction.operands)
        if not any(isinstance(operand, Register) and operand.name == "%envreg1" for operand in operands):
            return None
        return self._images.reserve("grid workspace", _WORKSPACE)

    def _shared_layout(self) -> SharedLayout:
        end = self._shared.static.end
        return SharedLayout(end, aligned(end, self._shared.alignment), tuple(self._shared.placements))

    def _opcodes(self) -> set[str]:
        return {site.instruction.opcode[0] for site in self._numbers.sites}

    def _local_size(self, layouts: dict[str, FunctionLayout]) -> int:
        frames = {name: aligned(layout.frame_size, 16) for name, layout in layouts.items()}
        deepest = self._graph.deepest(self._entry.name, frames)
        if deepest is None or "alloca" in self._opcodes():
            deepest, size = sum(frames.values()), _OPEN_STACK + sum(frames.values())
        else:
            size = aligned(FIRST_OFFSET + deepest, 16) if deepest else FIRST_OFFSET
        if deepest > MOST_BYTES["local"]:
            function = self._linked.functions[self._entry.name].node
            with Declaring(function):
                raise ProgramError(
                    f"{function.name} and its callees need {deepest} bytes of .local memory "
                    f"(limit {MOST_BYTES['local']} per thread)"
                )
        return size


def _framed(layout: FunctionLayout, *, recursive: bool) -> FunctionLayout:
    """Return a function's layout, with a nonempty stack frame if recursive, so endless recursion uses up the stack."""
    return replace(layout, recursive=True, frame_size=max(layout.frame_size, 16)) if recursive else layout


def _pick_entry(functions: Mapping[str, LinkedFunction], entry: str | None) -> Function:
    nodes = [function.node for function in functions.values()]
    entries = [function for function in nodes if function.kind == "entry" and function.body is not None]
    names = ", ".join(function.name for function in entries) or "none"
    if entry is None:
        if len(entries) != 1:
            raise ProgramError(
                f"expected one entry, got {len(entries)} ({names})", help="select an entry with entry= (--entry)"
            )
        return entries[0]
    for function in entries:
        if function.name == entry:
            return function
    raise ProgramError(f"unknown entry {entry!r}", help=f"use one of: {names}")


def _extent(entry: Function, directive: str) -> tuple[int, ...] | None:
    """Return the integer arguments of a directive in the entry's header; None without the directive."""
    for found in entry.directives:
        if found.name.lstrip(".") == directive:
            with Declaring(entry):
                return tuple(_count(word, directive) for word in found.arguments if isinstance(word, Immediate))
    return None


def _count(word: Immediate, directive: str) -> int:
    value = parse_literal(word.text)
    if not isinstance(value, int):
        raise ProgramError(f".{directive}: expected an integer, got {word.text}")
    return value


def _registers(entry: Function) -> int | None:
    """Return the registers per thread that ptxas assigns; None if the header does not specify them.

    ptxas 13.0 assigns to a kernel that changes its registers per warp the maximum that the kernel's directives allow.
    It ignores the change (C7508) without `.maxnreg`, unless `.minnctapersm` and the threads of a CTA are given.
    """
    asked = _extent(entry, "maxnreg")
    limits = [] if asked is None else [-(-asked[0] // _REGISTER_STEP) * _REGISTER_STEP]
    blocks, threads = _extent(entry, "minnctapersm"), _extent(entry, "reqntid") or _extent(entry, "maxntid")
    if blocks is not None and threads is not None:
        share = _REGISTERS // max(blocks[0] * prod(threads), 1)
        limits.append(min(share // _REGISTER_STEP * _REGISTER_STEP, _MOST_REGISTERS))
    return min(limits, default=None)
