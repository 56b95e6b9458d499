"""Walk over a module: visits every statement once, in order, with its scope.

A rule is a function that checks one kind of statement and reports findings; NVIDIA's are in `rules`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.known_forms import plain_addresses, plain_names
from pyptx_ir.isa.modules.scopes import UNKNOWN, Scope
from pyptx_ir.syntax.nodes import Block, Function, Instruction, Section, Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.modules.checks import Checks
    from pyptx_ir.isa.modules.findings import Finding
    from pyptx_ir.isa.modules.known_forms import RightForms
    from pyptx_ir.syntax.nodes import Variable

# PTX version for modules without a `.version`.
NEWEST = (9, 5)
# Maximum number of findings per statement; locating a finding scans the whole statement.
MOST_OF_A_STATEMENT = 50


@dataclass(slots=True)
class Routine:
    """Data collected about one function, for rules that need the whole function."""

    node: Function
    at: int
    scope: Scope
    shared: set[str] = field(default_factory=set[str])
    own_shared: int = 0
    callees: set[str] = field(default_factory=set[str])
    groups: dict[str, int] = field(default_factory=dict[str, int])
    ended: bool = False
    # For each name in the body, the index of its declaration; computed on demand.
    declared: dict[str, int] | None = None
    # Number of undeclared names such as `%r7`, by stem `%r`.
    unbanked: Counter[str] = field(default_factory=Counter[str])
    warned: set[str] = field(default_factory=set[str])
    narrow_calls: tuple[Finding, ...] = ()  # errors of this function's calls, reported if an entry reaches the function
    # Integers that rules of plugins store about the function, by a key that the rule chooses.
    notes: dict[str, int] = field(default_factory=dict[str, int])


class Walk:
    """State of a walk over one module: its position, its scopes, and the findings."""

    def __init__(self, checks: Checks, target: str | None) -> None:
        """Prepare to check a module; `target` overrides the module's `.target`."""
        self.forced = target
        self.target: str | None = target
        self.version: tuple[int, int] | None = None
        self.address_size = 32  # bits of an address in a module without `.address_size`, as in the manual
        self.independent_textures = False
        self.at = -1
        self.sound = True  # whether the current instruction is valid by the instruction table; other rules require it
        self.module_scope = self.scope = Scope()
        self.routine: Routine | None = None
        self.routines: list[Routine] = []
        self._by_name: dict[str, Routine] = {}
        self.functions: dict[str, tuple[Function, int]] = {}
        self.aliased: set[str] = set()
        self.variables: dict[str, Variable] = {}
        # Names in each operand, by the operand's identity: a parsed tree has one operand per distinct text, and the
        # module keeps all operands alive. The names do not depend on the operand's statement.
        self.names: dict[int, tuple[str, ...]] = {}
        self.plain_names, self.plain_addresses = plain_names(), plain_addresses()
        self.right: RightForms = {}  # cache of valid instruction forms, shared by all modules of one target and version
        # `shape_number` of each operand that contains no name, by the operand's `id`.
        self.literals: dict[int, int] = {}
        # Total bytes of the .const variables read so far; statement index of the last one.
        self.constant = self.constant_at = 0
        self.files: dict[int, int] = {}
        self.section_labels: dict[str, int] = {}  # in .section directives, the statement index of each label
        self.places: set[tuple[int, int, int]] = set()  # file, line and column of each .loc read so far
        self.last_label = ""
        # Whether the nesting of blocks is uncertain, because a brace or function header is missing.
        self.unreadable = False
        self.header_end = 0
        self.early: dict[str, Finding] = {}
        self.early_registers: dict[str, Finding] = {}
        self._reported: Counter[int] = Counter()
        self.suggestions = 0
        self.found: list[tuple[int, Finding]] = []
        self._checks = checks

    @property
    def judged_version(self) -> tuple[int, int]:
        """Version of the module, or the newest PTX version if the module has none."""
        return self.version or NEWEST

    def report(self, finding: Finding) -> None:
        """Record a finding for the current statement, or for statement number `finding.at`.

        At most `MOST_OF_A_STATEMENT` findings per statement are kept.
        """
        at = self.at if finding.at is None else finding.at
        self._reported[at] += 1
        if self._reported[at] <= MOST_OF_A_STATEMENT:
            self.found.append((at, finding))

    def body(self, statements: Sequence[Statement]) -> None:
        """Visit statements in order, each before its nested statements."""
        checks, of_opcode = self._checks.by_kind, self._checks.by_opcode
        instruction_checks = checks.get(Instruction, ())
        for node in statements:
            self.at += 1
            if isinstance(node, Instruction):
                for check in instruction_checks:
                    check(self, node)
                if self.sound and node.opcode[0] in of_opcode:
                    for check in of_opcode[node.opcode[0]]:
                        check(self, node)
                continue
            for check in checks.get(type(node), ()):
                check(self, node)
            self._inside(node)

    def _inside(self, node: Statement) -> None:
        if isinstance(node, Section):
            self.at += len(node.body)
        elif isinstance(node, Block):
            self._block(node, Scope(self.scope))
        elif isinstance(node, Function) and node.body is not None and self.routine is not None:
            self.at += 1  # a function and its body have separate statement indices
            self._block(node.body, self.routine.scope)
            self.routine = None
            self.scope = self.module_scope

    def _block(self, node: Block, scope: Scope) -> None:
        outer, self.scope = self.scope, scope
        scope.expect_labels(node.body)
        self.body(node.body)
        self.scope = outer

    def enter(self, node: Function) -> Routine:
        """Open the scope of a function, and start its `Routine`."""
        self.scope = Scope(self.module_scope)
        self.routine = Routine(node, self.at, self.scope)
        self.routines.append(self.routine)
        self._by_name[node.name] = self.routine
        return self.routine

    def entries(self) -> list[Routine]:
        """Return the `.entry` functions with a body that the walk has visited so far."""
        return [routine for routine in self.routines if routine.node.kind == "entry"]

    def called_by(self, entry: Routine) -> list[Routine]:
        """Return the functions that `entry` calls by name, directly or indirectly, after `entry` itself."""
        seen, reached = {entry.node.name}, [entry]
        for routine in reached:
            for name in sorted(routine.callees - seen):
                if name in self._by_name:
                    seen.add(name)
                    reached.append(self._by_name[name])
        return reached

    def give_up_on(self, name: str) -> None:
        """Treat an undeclared name as declared from now on, so that it is reported once."""
        outermost = self.routine.scope if self.routine is not None else self.module_scope
        outermost[name] = self.scope[name] = UNKNOWN

    def warn_once(self, finding: Finding) -> None:
        """Report a finding, but at most one per function and code."""
        warned = self.routine.warned if self.routine is not None else set[str]()
        if finding.code not in warned:
            warned.add(finding.code)
            self.report(replace(finding, at=self.at))
