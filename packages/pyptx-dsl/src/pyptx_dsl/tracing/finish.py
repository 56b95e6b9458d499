"""Conversion of a finished trace to the body of its entry.

Replaces each `OffsetSlot` by its instructions, declares shared variables as static or moves them into one dynamic
symbol, and adds the register declarations at the start. Maps every line to the position in the user's Python code that
emitted it. Statements are not reordered or removed; only declarations and, on request, `.loc` are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import UndefinedLabelError
from pyptx_dsl.registers.handle import numbered
from pyptx_dsl.registers.offsets import OffsetSlot
from pyptx_dsl.tracing.escapes import refuse_unopened
from pyptx_dsl.tracing.label_schemes import name_labels
from pyptx_dsl.tracing.rebase import Places, rebase
from pyptx_dsl.tracing.trace import Scope
from pyptx_dsl.tracing.trivia import usual_trivia
from pyptx_ir.plugins.rows import SharedVariable
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.syntax.drafts import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_dsl.origin import Site
    from pyptx_dsl.tracing.lineinfo import LineTable
    from pyptx_dsl.tracing.memories import MemoryLayout
    from pyptx_dsl.tracing.trace import Trace

_DYNAMIC = "dyn_smem"
_BRANCHES = frozenset({"bra", "brx"})
_COMPOSED = frozenset({OffsetSlot, Scope})
"""Classes of nodes in a `Scope` that expand to several statements."""
_NAMING = (nodes.Instruction, nodes.BranchTargets)
"""Classes of statements that may contain labels: branches and target lists."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Body of an entry, statements required before the entry, and the size of dynamic shared memory.

    `sites` has the code position (Site) of each statement of the body, in the order of the text; a nested block has
    two, one for each brace; the last Site is of the body's closing brace.
    `shared` are the dynamic shared memory allocations.
    """

    body: nodes.Block
    globals: tuple[nodes.Statement, ...]
    shared_bytes: int
    sites: tuple[Site | None, ...]
    statements: int
    shared: tuple[SharedVariable, ...]


def finish(trace: Trace, table: LineTable | None = None) -> Finished:
    """Return the finished body of a trace whose kernel function has returned; with a line table, with `.loc` lines."""
    if trace.faults:
        raise trace.faults[0]
    refuse_unopened(trace)
    for slot in reversed(trace.offsets.values()):
        slot.settle()
    if trace.names.scheme is not None:
        name_labels(trace, trace.names.scheme)
    _check_labels(trace)
    shared = _place_shared(trace)
    others = [variable for layout in trace.memories.declared() for variable in _variables(layout)]
    head: list[nodes.Statement] = [*trace.banks.declarations(usual_trivia(1)), *shared.variables, *others]
    sites: list[Site | None] = [None] * len(head)
    body = list(head)
    for scope in (trace.prologue, trace.root_scope):
        body += _statements(scope, shared.places, sites, table)
    if 0 < len(head) < len(body):
        first = body[len(head)]
        body[len(head)] = rewritten(first, _below_blank_line(nodes.trivia_of(first)), first.raw)
    sites.append(None)
    block = nodes.Block(
        body=tuple(body), leading_trivia=usual_trivia(0), closing_trivia=trace.root_scope.closing_trivia
    )
    named = tuple(
        SharedVariable(region.name, shared.places[region.name][1], region.bytes)
        for region in trace.memories.shared.regions
        if region.name in shared.places
    )
    head_of_module = (*shared.globals, *trace.globals)
    _let_go(trace)
    return Finished(block, head_of_module, shared.bytes, tuple(sites), trace.statement_count, named)


def _below_blank_line(leading_trivia: str) -> str:
    return type(leading_trivia)("\n" + leading_trivia)  # adding to a UsualLead gives a plain str: convert it back


def _let_go(trace: Trace) -> None:
    """Break the cycles between a trace and its registers, so that they are freed without the garbage collector."""
    for slot in trace.offsets.values():
        slot.narrow.slot = None
    trace.offsets.clear()
    trace.root_scope.nodes.clear()
    trace.names.let_go()


def _statements(
    scope: Scope, places: Places, sites: list[Site | None], table: LineTable | None
) -> Iterable[nodes.Statement]:
    """Return the statements of a `{ }` scope, and append the code position of each to `sites`."""
    if table is None and not places and _COMPOSED.isdisjoint([node.__class__ for node in scope.nodes]):
        sites += scope.sites
        return cast("list[nodes.Statement]", scope.nodes)
    return _expanded(scope, places, sites, table)


def _expanded(
    scope: Scope, places: Places, sites: list[Site | None], table: LineTable | None
) -> Iterator[nodes.Statement]:
    """Yield a `{ }` scope's statements, OffsetSlots and inner scopes expanded; append the Site of each to `sites`."""
    for node, site in zip(scope.nodes, scope.sites, strict=True):
        if node.__class__ not in _COMPOSED and table is None and not places:
            sites.append(site)
            yield cast("nodes.Statement", node)
            continue
        if isinstance(node, Scope):
            sites.append(site)
            inner = tuple(_statements(node, places, sites, table))
            sites.append(site)
            yield nodes.Block(body=inner, leading_trivia=node.leading_trivia, closing_trivia=node.closing_trivia)
            continue
        if table is not None and isinstance(node, OffsetSlot | nodes.Instruction):
            leading_trivia = node.leading_trivia if isinstance(node, OffsetSlot) else nodes.trivia_of(node)
            for location in table.locations(site, leading_trivia[leading_trivia.rindex("\n") :]):
                sites.append(site)
                yield location
        for statement in node.instructions() if isinstance(node, OffsetSlot) else (node,):
            sites.append(site)
            yield rebase(statement, places) if places and isinstance(statement, nodes.Instruction) else statement


def _check_labels(trace: Trace) -> None:
    """Raise UndefinedLabelError for the first branch to a label that is not visible in the branch's `{ }` scope."""
    for scope in (trace.prologue, trace.root_scope):
        for name, site in _lost_branches(scope, frozenset()):
            raise UndefinedLabelError(
                f"kernel {trace.name!r} branches to {name!r}, which is not defined here",
                where=trace.recorder.where(site),
                help=f"define it with ptx.label({name!r}); labels inside a scope are not visible outside",
            )


def _lost_branches(scope: Scope, outer: frozenset[str]) -> Iterator[tuple[str, Site]]:
    """Yield the targets of branches to labels that neither the `{ }` scope nor an enclosing scope defines."""
    placed = [
        (node, site)
        for node, site in zip(scope.nodes, scope.sites, strict=True)
        if node.__class__ is not nodes.Instruction or node.opcode[0] in _BRANCHES
    ]
    visible = outer.union([node.name for node, _ in placed if isinstance(node, nodes.Label)])
    for node, site in placed:
        if isinstance(node, Scope):
            yield from _lost_branches(node, visible)
        elif isinstance(node, _NAMING):
            yield from [(name, site) for name in _targets(node) if name not in visible]


def _targets(node: nodes.Instruction | nodes.BranchTargets) -> Iterator[str]:
    """Yield the labels that a branch names (for `brx` its target list), or those of a `.branchtargets`."""
    if isinstance(node, nodes.BranchTargets):
        for target in node.targets:
            stem, _, count = target.rstrip(">").partition("<")
            yield from numbered(stem, int(count)) if count else (stem,)
    elif node.operands and isinstance(label := node.operands[-1], tree.Symbol):
        yield label.name


@dataclass(frozen=True, slots=True)
class _Shared:
    variables: tuple[nodes.Variable, ...]
    globals: tuple[nodes.Variable, ...]
    places: Places
    bytes: int


def _place_shared(trace: Trace) -> _Shared:
    """Place shared allocations as static variables or, above the target's static limit, in one dynamic symbol."""
    layout = trace.memories.shared
    symbol = layout.base_symbol
    declared = () if symbol is None else (_extern(symbol, layout.alignment),)
    if not (layout.regions and (layout.force_dynamic or layout.bytes > find_target(trace.target).shared_static)):
        return _Shared(_variables(layout), declared, {}, layout.dynamic_bytes)
    if symbol is None:
        name = _DYNAMIC if not trace.has_symbol(_DYNAMIC) else trace.fresh_symbol(_DYNAMIC)
        places = {region.name: (name, region.offset) for region in layout.regions}
        return _Shared((), (_extern(name, layout.alignment),), places, max(layout.dynamic_bytes, layout.bytes))
    start = -(-layout.dynamic_bytes // layout.alignment) * layout.alignment
    places = {region.name: (symbol, start + region.offset) for region in layout.regions}
    return _Shared((), declared, places, start + layout.bytes)


def _variables(layout: MemoryLayout) -> tuple[nodes.Variable, ...]:
    """Return a variable declaration for each allocation in a MemoryLayout."""
    return tuple(
        nodes.Variable(
            space=layout.space,
            type="b8",
            declarators=(nodes.Declarator(region.name, (tree.Immediate(str(region.bytes)),)),),
            alignment=region.alignment,
            leading_trivia=usual_trivia(1),
        )
        for region in layout.regions
    )


def _extern(name: str, alignment: int) -> nodes.Variable:
    return nodes.Variable(
        space="shared",
        type="b8",
        declarators=(nodes.Declarator(name, (None,)),),
        linking="extern",
        alignment=alignment,
        leading_trivia="\n",
    )
