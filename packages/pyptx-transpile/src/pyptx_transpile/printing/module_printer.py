"""Printer of a PTX module as a Python file: style, variables, functions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyptx_dsl.types import BY_NAME
from pyptx_ir.syntax import nodes
from pyptx_transpile.planning.plan import RewritePlan
from pyptx_transpile.printing.body_printer import BodyPrinter, directive, write_deviation
from pyptx_transpile.printing.declarations import constant, function, kind, texts, variable
from pyptx_transpile.printing.forms import form_lines, named_forms
from pyptx_transpile.printing.layout import WIDTH, Group, call, keyword, listed, text
from pyptx_transpile.printing.long_files import MOST_LINES, hold_in_text
from pyptx_transpile.printing.outlined import called
from pyptx_transpile.printing.page import Page
from pyptx_transpile.printing.sections import data_calls, is_tabled
from pyptx_transpile.printing.signatures import declared_functions, definition
from pyptx_transpile.printing.values import quoted
from pyptx_transpile.reading.label_schemes import label_scheme
from pyptx_transpile.reading.mangled import signature
from pyptx_transpile.reading.names import Registers, Symbols, identifier
from pyptx_transpile.reading.rows import Row, spelling_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyptx_ir.syntax.style import Style
    from pyptx_transpile.planning.plan import Constant, Rewrite
    from pyptx_transpile.printing.layout import Expression
    from pyptx_transpile.printing.outlined import Helper
    from pyptx_transpile.progress import Progress
    from pyptx_transpile.reading.names import Naming
    from pyptx_transpile.reading.rows import Body

# Functions that print a statement as a Python call without `module.`, by node class (`Any` stands for that class).
_CALLS: dict[type[nodes.Statement], Callable[[Any], Group]] = {
    nodes.Version: lambda node: call("version", [str(node.major), str(node.minor)]),
    nodes.Target: lambda node: call("target", texts(node.names)),
    nodes.AddressSize: lambda node: call("address_size", [str(node.bits)]),
    nodes.File: lambda node: call("file", _file(node)),
    nodes.Alias: lambda node: call("alias", texts((node.name, node.aliasee))),
    nodes.Pragma: lambda node: call("pragma", texts(node.values)),
    nodes.Empty: lambda _: call("empty", []),
    nodes.Label: lambda node: call("label", texts((node.name,))),
    nodes.SectionData: lambda node: call("data", [kind(node.type), *map(constant, node.values)]),
    nodes.Directive: lambda node: call("directive", directive(node)),
    nodes.Variable: lambda node: call("var", variable(node, of_module=True)),
    nodes.Function: lambda node: call("declare", [quoted(node.kind), quoted(node.name), *function(node)]),
}
# Matches names in Python code that are neither attributes nor inside strings.
_TYPES = re.compile(r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?<![.\w])([a-z]\w*)""", re.ASCII)
_NO_TYPES = ("ptx.inst.", "ptx.label(", "ptx.loc(", "ptx.formatted(")  # calls without PTX types as arguments
_TABLE = 2  # minimum consecutive data lines of a .section printed as one `module.lines` call
_OF_TEXTS = "  # noqa: F401 - bodies that are texts use them"
_DIGITS = re.compile(r"(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """Top-level statements of the printed file: their lines, and the PTX function body with its plan, if any.

    `header` is the number of lines before the body's lines, including the docstring.
    """

    page: Page
    body: Body | None = None
    plan: RewritePlan | None = None
    helper: Helper | None = None
    header: int = 0

    @property
    def rewrites(self) -> list[Rewrite | None]:
        """The innermost rewrite that printed each line; None for a line outside rewrites."""
        return self.page.owners


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed Python file: head, one `Part` after another, and foot (the lines after the last part)."""

    head: str
    parts: tuple[Part, ...]
    foot: str
    opening: str
    """The lines of the head after the imports: the style, and the `pyptx.module` call."""
    numbered: bool
    """Whether labels are unnamed, so that a wrong rewrite may change the names of later labels."""

    def text(self) -> str:
        """Return the Python source of the file."""
        texts = [self.head]
        function = False
        for part in self.parts:
            is_function = part.body is not None or part.helper is not None
            texts += "\n\n" if function or is_function else "\n", part.page.text()
            function = is_function
        return "".join([*texts, self.foot])


class ModulePrinter:
    """Printer of a module, function by function."""

    def __init__(
        self,
        row: Row,
        style: Style,
        tail: str | None,
        *,
        kernel_name: str | None = None,
        unchecked: bool | str = False,
        naming: Naming,
        forms: bool = False,
    ) -> None:
        """Store a module's statements and braces, and their style; `tail` is the PTX text after the last statement.

        If names are demangled, docstrings have the C++ declarations. With `forms`, long opcodes get short names.
        """
        self.row, self._style, self._tail, self._unchecked = row, style, tail, unchecked
        self._symbols = Symbols(_banks(row))
        self._functions = declared_functions(row, self._symbols, kernel_name, naming)
        self._naming = replace(naming, forms=self._forms()) if forms else naming

    def names(self) -> list[str]:
        """Return the Python names of the file's functions and variables, and the PTX names of its functions."""
        return [*self._symbols.variables, *(identifier(self.row.items[at].function) for at in self._functions)]

    def _forms(self) -> dict[tuple[str, ...], str]:
        found = named_forms(self.row, self._symbols.variables, _banks(self.row), self._functions.values())
        self._symbols.variables |= set(found.values())
        return found

    def printed(
        self, plans: Mapping[int, RewritePlan], progress: Progress | None = None, *, numbered: bool = True
    ) -> Printed:
        """Return the printed file; `plans` are the rewrite plans of the bodies, by body start.

        With `numbered` (and the printer's `naming.numbered`), labels whose names follow from positions are unnamed.
        """
        naming = self._naming if numbered else replace(self._naming, numbered=False)
        numbered = naming.numbered and any(map(RewritePlan.unnamed, plans.values()))
        helpers = list(called(plans))
        self._symbols.variables |= {helper.name for helper in helpers}
        found = self.row.bodies() if progress is None else progress.over(self.row.bodies())
        definitions = {
            body.start - 2: self._definition(body.start - 2, body, plans[body.start], naming) for body in found
        }  # function bodies are printed first, because they determine which variables module-level statements assign
        parts = self._statements(definitions, helpers)
        rewrites = [rewrite for plan in _all(plans) for rewrite in plan.rewrites()]
        if any("SPELLING" in rewrite.constants for rewrite in rewrites):
            parts.insert(0, self._spelling())
        if shared := _used({constant.name: constant for rewrite in rewrites for constant in rewrite.shared}, parts):
            parts.insert(0, _assigned(shared))
        called_ = _mentioned([line for part in parts for line in part.page.lines], self._naming.forms.values())
        if forms := {form: name for form, name in self._naming.forms.items() if name in called_}:
            parts.insert(0, Part(_lines(form_lines(forms))))
        is_long = sum(len(part.page.lines) for part in parts) > MOST_LINES
        for part in parts if is_long else ():
            if part.body is not None:
                hold_in_text(part.page, part.header)
        opening = self._opening(numbered=numbered)
        head = self._head(parts, _OF_TEXTS if is_long else "") + opening
        return Printed(head, tuple(parts), self._foot(), opening, numbered)

    def _statements(self, definitions: Mapping[int, Part], helpers: list[Helper]) -> list[Part]:
        """Return the printed module statements, with helper functions before the first function definition."""
        parts: list[Part] = []
        page, at, items = Page(), self._begin(), self.row.items
        while at < len(items) - 1:
            if at in definitions:
                if page.lines:
                    parts.append(Part(page))
                parts += [self._helper(each) for each in helpers]
                helpers = []
                parts.append(definitions[at])
                page, at = Page(), self.row.ends[at + 1] + 1
            elif isinstance(node := items[at].node, nodes.Section):
                at = self._section(page, at, node)
            else:
                self._statement(page, at)
                at += 1
        return [*parts, Part(page)] if page.lines else parts

    def _spelling(self) -> Part:
        page = Page()
        rows = [f"{dtype}: {quoted(' '.join(row.values()))}" for dtype, row in self.row.spelled().items()]
        page.say(Group("{", tuple(rows), "}"), before="SPELLING = ")
        return Part(page)

    def _begin(self) -> int:
        """Return the number of head statements that `pyptx.module(…)` replaces."""
        items = self.row.items
        kinds = [item.kind for item in items[:3]]
        plain = all(item.leading_trivia is None and item.raw is None for item in items[:3])
        return 3 if kinds == ["Version", "Target", "AddressSize"] and plain else 0

    def _statement(self, page: Page, at: int) -> None:
        item = self.row.items[at]
        write_deviation(page, "module", item.leading_trivia, spelling_of(item), self.row.refused.get(at))
        if item.node is not None:
            page.say(_CALLS[type(item.node)](item.node), before=f"{self._held(item.node, at)}module.")

    def _held(self, node: nodes.Statement, at: int) -> str:
        """Return `variable = `, to print before the declaration of a name that some body uses; "" for other names."""
        match node:
            case nodes.Function(name=name) | nodes.Variable(declarators=(nodes.Declarator(name=name), *_)):
                variable = self._symbols.find(name, at + 1) if name in self._symbols.used else None
                return "" if variable is None else f"{variable} = "
            case _:
                return ""

    def _section(self, page: Page, at: int, node: nodes.Section) -> int:
        item, end = self.row.items[at], self.row.ends[at]
        spelling = None if item.raw is None else item.raw.removesuffix("{")
        write_deviation(page, "module", item.leading_trivia, spelling)
        with page.block(f"with module.section({quoted(node.name)})"):
            place = at + 1
            while place < end:
                place = self._lines(page, place)
            write_deviation(page, "module", self.row.items[end].leading_trivia, None)
        return end + 1

    def _lines(self, page: Page, at: int) -> int:
        """Print a debug section's statement at index `at`, or its data lines from there; return the following index."""
        items = self.row.items
        end = at
        while is_tabled(items[end].node) and (end == at or end not in self.row.deviating):
            end += 1
        if end - at < _TABLE or at in self.row.refused:
            self._statement(page, at)
            return at + 1
        write_deviation(page, "module", items[at].leading_trivia, spelling_of(items[at]), self.row.refused.get(at))
        for each in data_calls([node for item in items[at:end] if isinstance(node := item.node, nodes.SectionData)]):
            page.say(each)
        return end

    def _helper(self, helper: Helper) -> Part:
        page = Page()
        helper.write(page, self._naming)
        return Part(page, helper=helper)

    def _definition(self, at: int, body: Body, plan: RewritePlan, naming: Naming) -> Part:
        page, items = Page(), self.row.items
        node = items[at].node
        if not isinstance(node, nodes.Function):
            raise TypeError(f"item {at} is not a function")
        write_deviation(page, "module", items[at].leading_trivia, spelling_of(items[at]), self.row.refused.get(at))
        if page.lines:
            page.space(2)
        brace = items[at + 1].leading_trivia
        arguments = [quoted(node.name), *function(node)]
        if brace is not None:
            arguments.append(f"brace={quoted(brace)}")
        page.say(call(f"module.{node.kind}", arguments), before="@")
        registers = Registers(self._symbols, at)
        with page.block(definition(self._functions[at], node, registers), behind=" -> None"):
            said = signature(node.name) if self._naming.demangled else None
            if said is not None:
                page.line(f'"""C++: {said}."""')
            header = len(page.lines)
            BodyPrinter(body, plan, page, registers, naming).print()
        return Part(page, body, plan, header=header)

    # --- head and foot of a file ------------------------------------------------------------------------

    def _head(self, parts: Iterable[Part], remark: str) -> str:
        page = Page()
        for line in self._summary():
            page.line(line)
        page.line("")
        written = [line for part in parts for line in part.page.lines]
        mentioned = _mentioned(written, ("partial(", "ptx.", "reg."))
        if "partial(" in mentioned:
            page.line("from functools import partial")
            page.line("")
        page.line("import pyptx")
        names = [name for name in ("ptx", "reg") if f"{name}." in mentioned]
        if names:
            page.line(f"from pyptx import {', '.join(names)}{remark}")
        page.line("from pyptx.emitter import Style")
        others = "\n".join([line for line in written if not line.lstrip(" ").startswith(_NO_TYPES)])
        used = sorted({name for name in _TYPES.findall(others) if name in BY_NAME}, key=_natural)
        if used:
            line = f"from pyptx.types import {', '.join(used)}{remark}"
            page.say(line if len(line) <= WIDTH else Group(f"from pyptx.types import ({remark}", tuple(used), ")"))
        page.line("")
        return page.text()

    def _opening(self, *, numbered: bool) -> str:
        page = Page()
        page.say(_style(self._style), before="STYLE = ")
        if isinstance(self._unchecked, str):
            page.line(f"# Not checked against the instruction table, which rejects this: {self._unchecked}")
        page.say(self._module(numbered=numbered), before="module = ")
        return page.text()

    def _summary(self) -> Iterator[str]:
        """Yield the lines of the printed file's docstring, which names its kernels."""
        items = [item.node for item in self.row.items]
        target = next((node.names[0] for node in items if isinstance(node, nodes.Target)), "no target")
        kernels = [name for at, name in self._functions.items() if self.row.items[at].name == ".entry"]
        what = f"{len(kernels)} kernels" if len(kernels) != 1 else f"The kernel {kernels[0]}"
        yield f'"""{what} for {target}, as pyptx-transpile printed PTX: `module.ptx()` is the text, byte for byte."""'

    def _module(self, *, numbered: bool) -> Group:
        arguments: list[Expression] = []
        if self._begin():
            version, target, size = (item.node for item in self.row.items[:3])
            if isinstance(version, nodes.Version):
                arguments.append(f"version=({version.major}, {version.minor})")
            if isinstance(target, nodes.Target):
                names = texts(target.names)
                arguments.append(keyword("target", names[0] if len(names) == 1 else listed(names)))
            if isinstance(size, nodes.AddressSize) and size.bits != 64:
                arguments.append(f"address_size={size.bits}")
        if numbered:
            arguments.append(f"labels={quoted(label_scheme(self.row) or '')}")
        if self._unchecked:
            arguments.append("unchecked=True")
        if self._tail is not None:
            arguments.append(f"tail={quoted(self._tail)}")
        return call("pyptx.module", [*arguments, "style=STYLE"])

    def _foot(self) -> str:
        kernels = [name for at, name in self._functions.items() if self.row.items[at].name == ".entry"]
        alias = f"\n\nk = {kernels[0]}\n" if len(kernels) == 1 and kernels[0] != "k" else "\n"
        return f'{alias}\nif __name__ == "__main__":\n    print(module.described())\n'


def _mentioned(lines: Iterable[str], texts: Iterable[str]) -> set[str]:
    """Return the strings in `texts` that occur in these lines of printed Python."""
    whole = "\n".join(lines)
    return {text for text in texts if text in whole}


def _used(constants: Mapping[str, Constant], parts: Iterable[Part]) -> dict[str, Constant]:
    """Return the constants that the Python file calls, or whose attributes it uses."""
    texts = {f"{name}{sign}" for name in constants for sign in "(."}
    found = _mentioned((line for part in parts for line in part.page.lines), texts) if texts else texts
    return {name: constant for name, constant in constants.items() if not found.isdisjoint((f"{name}(", f"{name}."))}


def _lines(lines: Iterable[str]) -> Page:
    page = Page()
    for line in lines:
        page.line(line)
    return page


def _all(plans: Mapping[int, RewritePlan]) -> Iterator[RewritePlan]:
    """Yield the rewrite plans of the bodies and of the helper functions that they call."""
    yield from plans.values()
    yield from (helper.plan for helper in called(plans))


def _assigned(constants: Mapping[str, Constant]) -> Part:
    page = Page()
    given = [constants[name] for name in sorted(constants)]
    above = {each.made_of.name: each.made_of for each in given if each.made_of is not None}
    for each in (*above.values(), *given):
        page.say(each.value, before=f"{each.name} = ")
    return Part(page)


def _banks(row: Row) -> set[str]:
    """Return the Python names of the registers that the functions declare."""
    declared = [item.node for item in row.items if isinstance(item.node, nodes.RegisterDeclaration)]
    return {identifier(each.name) for node in declared for each in node.names}


def _natural(name: str) -> list[object]:
    """Return a sort key like that of linters: digits compare as numbers."""
    return [int(part) if part.isdecimal() else part for part in _DIGITS.split(name)]


def _file(node: nodes.File) -> list[Expression]:
    more = [str(number) for number in (node.timestamp, node.size) if number is not None]
    return [str(node.index), quoted(node.name), *more]


def _style(style: Style) -> Group:
    """Return the Python call that creates a style."""
    gaps = Group("{", tuple([_mapping(f"{quoted(name)}: ", rules) for name, rules in style.gaps.items()]), "}")
    return call(
        "Style",
        [
            keyword("trivia", _mapping("", style.trivia)),
            keyword("gaps", gaps),
            keyword(
                "asm",
                Group("(", tuple([text(each, quoted) for each in style.asm]), ",)" if len(style.asm) == 1 else ")"),
            ),
        ],
    )


def _mapping(before: str, rules: Mapping[str, str]) -> Group:
    return Group(f"{before}{{", tuple([f"{quoted(key)}: {quoted(text)}" for key, text in rules.items()]), "}")
