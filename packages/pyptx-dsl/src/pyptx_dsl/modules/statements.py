"""Statements of a module under construction: order, leading trivia, declared names, Python locations."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.errors import ControlFlowError, DuplicateNameError
from pyptx_dsl.origin import Recorder, user_frame
from pyptx_dsl.tracing.deviations import Deviation, NextStatement, spelled
from pyptx_dsl.tracing.names import declared_names, variable_kind
from pyptx_dsl.tracing.origins import Line, Origins, height, line_sites, lines_inside
from pyptx_dsl.tracing.trivia import UsualLead, usual_trivia
from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.drafts import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import FrameType

    from pyptx_dsl.origin import Site
    from pyptx_dsl.types import PtxType

    Opening: TypeAlias = tuple[str, Deviation, Site]
    """State at the start of a statement with a body: comments, formatting, and source location."""

Data = nodes.SectionData | nodes.Label

_HEAD = (nodes.Version, nodes.Target, nodes.AddressSize)


class Statements:
    """Statements appended to a module so far.

    `declared` maps each name to its kind for the instruction checker: a state space, an opaque type, or `.func`.
    `recorder` stores the Python location of each statement, for `line_origins`; `place` is the file and line at which
    the module was created.
    """

    __slots__ = (
        "_defined",
        "_inside",
        "_next",
        "_section_sites",
        "_sites",
        "body",
        "declared",
        "place",
        "recorder",
        "section",
        "unchecked",
    )

    def __init__(self, *, unchecked: bool) -> None:
        """Create an empty module; `unchecked` disables the checks of all its statements."""
        self.unchecked = unchecked
        self.body: list[nodes.Statement] = []
        self.section: list[Data] | None = None
        self.declared: dict[str, str] = {}
        self._defined: set[str] = set()
        self._next = NextStatement()
        self.recorder = Recorder()
        frame = user_frame()
        self.place = (frame.f_code.co_filename, frame.f_lineno) if frame else ("<module>", 1)
        self._sites: list[Site] = []
        self._section_sites: list[Site] = []
        self._inside: dict[int, Sequence[Site | None]] = {}

    def append(self, node: nodes.Statement) -> None:
        """Append a statement after the usual whitespace, or after the whitespace that `formatted` has set."""
        self.refuse_section()
        comment, said = self.take_deviation()
        raw = None if said.spelling is None else spelled(node, said.spelling)
        leading_trivia = _leading_trivia(comment, said, self._usual(node))
        self._put(rewritten(node, leading_trivia, raw), self.site(sys._getframe(1)))  # noqa: SLF001  documented way to see the caller

    def refuse_section(self) -> None:
        """Raise ControlFlowError if a section is open, which may not contain statements."""
        if self.section is not None:
            raise ControlFlowError(
                "a section can contain data and labels only", help="end the section's `with` before this statement"
            )

    def append_definition(
        self, header: nodes.Function, body: nodes.Block, opening: Opening, sites: Sequence[Site | None]
    ) -> None:
        """Append a function; explicit source text replaces its header; `sites` are its statements' locations."""
        comment, said, site = opening
        raw = None if said.spelling is None else spelled(header, said.spelling, "{}")
        leading_trivia = _leading_trivia(comment, said, self._usual(header))
        self._put(replace(header, body=body, leading_trivia=leading_trivia, raw=raw), site, sites)

    def open_section(self) -> Opening:
        """Open a section for data lines; return the comments and formatting before the section."""
        if self.section is not None:
            raise ControlFlowError("sections cannot be nested", help="end the `with` of the previous section")
        self.section, self._section_sites = [], []
        return self.opening(sys._getframe(1))  # noqa: SLF001  as above

    def opening(self, frame: FrameType) -> Opening:
        """Return the comments, formatting and Python location of a statement that the call in `frame` starts."""
        return (*self._next.take(), self.site(frame))

    def site(self, frame: FrameType) -> Site:
        """Return the code position of the innermost user frame, from `frame` outwards."""
        return self.recorder.innermost(frame)

    def _put(self, node: nodes.Statement, site: Site, inside: Sequence[Site | None] = ()) -> None:
        """Append a finished statement, with the Python locations of the statements between its braces."""
        if inside:
            self._inside[len(self.body)] = inside
        self.body.append(node)
        self._sites.append(site)

    def sites_of_bodies(self) -> list[Sequence[Site | None]]:
        """Return the Python locations of the statements in each function body, in text order."""
        return [sites for index, sites in self._inside.items() if isinstance(self.body[index], nodes.Function)]

    def line_origins(self) -> Origins:
        """Return, for each line of the module's text, the Python lines that emitted it."""
        return Origins(self._line_sites, self.recorder)

    def _line_sites(self) -> dict[int, Site]:
        from pyptx_ir.syntax import emit

        number, sites = 1, dict[int, "Site"]()
        for index, (node, site) in enumerate(zip(self.body, self._sites, strict=True)):
            before, whole = nodes.trivia_of(node).count("\n"), emit(node).count("\n")
            inside = _inside(node, self._inside.get(index, ()))
            within = whole - before - height(inside)
            sites.update(line_sites(number, ((before, within, site), *inside)))
            number += whole
        return sites

    def close_section(self) -> list[Data]:
        """Close the section and return its data lines and labels."""
        lines, self.section = self.section or [], None
        return lines

    def closing(self) -> str:
        """Return the whitespace and comments before a closing brace."""
        comment, said = self._next.take()
        return _leading_trivia(comment, said, usual_trivia(0))

    def append_section(self, node: nodes.Section, opening: Opening) -> None:
        """Append a section; explicit source text replaces everything before its `{`."""
        comment, said, site = opening
        head = None if said.spelling is None else _section_head(node, said.spelling)
        whole = replace(node, leading_trivia=_leading_trivia(comment, said, self._usual(node)), head=head)
        self._put(whole, site, (*self._section_sites, site))

    def append_data(self, node: Data, *more: Data) -> None:
        """Append data lines to the open section; pending comments and formatting apply to the first line."""
        if self.section is None:
            raise ControlFlowError("no section is open", help='write data inside `with m.section(".debug_str"):`')
        if self._next.waiting:
            comment, said = self.take_deviation()
            raw = None if said.spelling is None else spelled(node, said.spelling)
            leading_trivia = nodes.trivia_of(node) if said.leading_trivia is None else said.leading_trivia
            node = rewritten(node, leading_trivia if not comment else f"\n{comment}{leading_trivia.lstrip()}", raw)
        self.section += (node, *more)
        site = self.site(sys._getframe(1))  # noqa: SLF001  as above
        self._section_sites += [site] * (1 + len(more))

    def _usual(self, node: nodes.Statement) -> UsualLead:
        """Return the usual whitespace before the next statement: a blank line between groups of statements."""
        if not self.body:
            return UsualLead()
        before = self.body[-1]
        same = before.__class__ is node.__class__ or (isinstance(before, _HEAD) and isinstance(node, _HEAD))
        return UsualLead("\n" if same and not (isinstance(node, nodes.Function) and node.body is not None) else "\n\n")

    # --- formatting of the next statement -------------------------------------------------------------

    def comment(self, text: str) -> None:
        """Add comment lines before the next statement."""
        self._next.comment("".join([f"// {line}".rstrip() + "\n" for line in text.splitlines() or [""]]))

    def deviate(self, deviation: Deviation) -> None:
        """Set the formatting of the next statement; raise ControlFlowError if it is already set."""
        self._next.deviate(deviation)

    def tail(self, said: str | None) -> str | None:
        """Return the text after the module's last statement: the pending comments or, without any, `said`."""
        comment = self._next.end()
        return f"\n{comment}" if comment else said

    @property
    def next_unchecked(self) -> bool:
        """Whether `formatted(unchecked=True)` disables the checks of the next statement."""
        return self.unchecked or self._next.unchecked

    def take_deviation(self) -> tuple[str, Deviation]:
        """Return and reset the comments and formatting of the next statement."""
        return self._next.take()

    # --- names --------------------------------------------------------------------------------------

    def declare_variable(self, node: nodes.Variable) -> None:
        """Record a variable's names; raise DuplicateNameError for a defined name, or another symbol's name."""
        for name in (name for names in declared_names(node.declarators) for name in names):
            self._declare(name, variable_kind(node), node.linking != "extern")

    def append_globals(self, written: Iterable[nodes.Statement]) -> None:
        """Append the declarations that a body needs before its function: printf formats, dynamic shared memory."""
        for node in written:
            match node:
                case nodes.Variable():
                    self.declare_variable(node)
                case nodes.Function():
                    self.declare_function(node.name, node.kind, defined=False)
                case _:
                    pass
            self.append(node)

    def declare_function(self, name: str, kind: str, *, defined: bool) -> None:
        """Record a function; raise DuplicateNameError for a second definition, or a name declared as another symbol."""
        self._declare(name, f".{kind}", defined)

    def forget_names(self) -> None:
        """Forget all names at a `.version`, which starts another module of a listing with several modules."""
        self.declared.clear()
        self._defined.clear()

    def _declare(self, name: str, kind: str, defined: bool) -> None:  # noqa: FBT001  a value, not a switch
        known = self.declared.setdefault(name, kind)
        if known != kind or (defined and name in self._defined):
            raise DuplicateNameError(
                f"the module already has a {known} {name!r}", help="declare the name as extern, or choose another"
            )
        if defined:
            self._defined.add(name)


def _leading_trivia(comment: str, said: Deviation, usual: UsualLead) -> str:
    """Return the leading trivia of a statement: comments, and the explicit or usual whitespace."""
    if said.leading_trivia is not None:
        return comment + said.leading_trivia
    return usual + comment if comment else usual


def _inside(node: nodes.Statement, sites: Sequence[Site | None]) -> list[Line]:
    """Return the newline counts and Python locations of the statements between the braces of a function or section."""
    match node:
        case nodes.Function(body=nodes.Block() as block):
            return lines_inside(block, sites)
        case nodes.Section():
            return lines_inside(node, sites)
        case _:
            return []


def _section_head(node: nodes.Section, spelling: str) -> str:
    return spelled(replace(node, body=()), spelling, "{}").removeprefix(".section")


def parameter_kinds(parameters: Iterable[nodes.Parameter]) -> list[tuple[str, str]]:
    """Return name and kind, for the checker, of each parameter of a PTX function: `.param`, or a register's type."""
    return [(each.name, ".param" if each.space == "param" else each.type) for each in parameters]


def parameter_types(parameters: Iterable[nodes.Parameter]) -> dict[str, PtxType | None]:
    """Return the types of a function's parameters in the .param state space, for `Trace.parameter_types`."""
    return {
        each.name: None if each.dimensions else BY_NAME[each.type]
        for each in parameters
        if each.space == "param" and each.vector is None and each.type in BY_NAME
    }
