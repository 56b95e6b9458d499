"""Builder of a PTX module: each method call appends one statement."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

from pyptx_dsl import tracebacks
from pyptx_dsl.errors import ArchError, DuplicateNameError, OperandError, UnknownNameError, close
from pyptx_dsl.instructions.calls import parameter
from pyptx_dsl.instructions.directives import comment_lines, deviation, directive_node, trivia
from pyptx_dsl.instructions.variables import Size, declarator, file_node, pragma_node
from pyptx_dsl.modules.bodies import Platform, traced
from pyptx_dsl.modules.description import described
from pyptx_dsl.modules.entry_kernels import Entry
from pyptx_dsl.modules.function_names import FunctionName
from pyptx_dsl.modules.options import FunctionOptions, Parameters, VariableOptions, header, variable_node
from pyptx_dsl.modules.output import assembly_of, text_of
from pyptx_dsl.modules.sections import SectionBlock, data_line, data_lines
from pyptx_dsl.modules.statements import Statements
from pyptx_dsl.modules.styles import chosen_style
from pyptx_dsl.modules.unfinished import Unfinished
from pyptx_dsl.registers.operands import as_count
from pyptx_dsl.registers.texts import identifier, text
from pyptx_dsl.tracing.label_schemes import label_names
from pyptx_dsl.tracing.statement_checks import StatementChecker
from pyptx_dsl.tracing.trivia import usual_trivia
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.drafts import rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.types import PtxType
    from pyptx_ir.syntax.style import Style
    from pyptx_ir.toolchain import Assembly, Resources

__all__ = ["FunctionName", "ModuleBuilder"]


class ModuleBuilder:
    """A module under construction: each method appends one statement, in the order of the calls.

    `ptx()` is its text, `module()` its tree. Bodies of functions are Python functions that run once, and consist of
    exactly the statements that they emit: no register declaration and no `ret` is added.
    """

    __slots__ = (
        *("_bodies", "_checker", "_defined", "_files", "_label_scheme", "_labels", "_platform", "_statements"),
        *("_style", "_tail", "_unfinished"),
    )

    param = staticmethod(parameter)
    declarator = staticmethod(declarator)

    def __init__(
        self,
        *,
        unchecked: bool = False,
        tail: str | None = None,
        style: Style | str | None = None,
        labels: str | None = None,
    ) -> None:
        """Create a module without statements; see `beginning.module`."""
        self._statements = Statements(unchecked=unchecked)
        self._tail = None if tail is None else trivia("tail", tail)
        self._style = chosen_style(style)
        self._platform = Platform()
        self._checker = StatementChecker()
        self._files: set[int] = set()
        self._labels: set[str] = set()
        self._label_scheme, self._bodies = labels, 0
        label_names(labels, 0)
        self._defined: dict[str, Entry] = {}
        self._unfinished = Unfinished(self._statements.recorder)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Raise UnknownNameError for an unknown attribute, with the nearest method names."""
            known = [each for each in dir(type(self)) if not each.startswith("_")]
            raise UnknownNameError(f"a module has no {name!r}", help=close(name, known))

    # --- results ------------------------------------------------------------------------------------------

    def module(self) -> nodes.Module:
        """Return the syntax tree of the statements appended so far.

        Raises ControlFlowError for a function without a body, and for a section that is not closed.
        """
        self._unfinished.refuse()
        return nodes.Module(tuple(self._statements.body), tail=self._statements.tail(self._tail))

    def ptx(self, *, style: Style | str | None = None) -> str:
        """Return the PTX text of the statements appended so far.

        `style` formats every statement without explicit formatting: a style derived from a text
        (`pyptx_ir.syntax.style.infer_style`), or a style's name, such as `"nvcc"`. Explicit formatting is kept: of
        `formatted` and `comment`, `tail=` and `brace=`, and the text of `ptx.raw`. Raises OperandError for an invalid
        style.
        """
        return text_of(self.module(), self._style if style is None else chosen_style(style))

    def described(self) -> str:
        """Return a description of the module: its target, its kernels, and how to run them."""
        return described(self.module(), self._defined)

    @tracebacks.entry
    def cubin(self) -> bytes:
        """Return the module's cubin from ptxas; cached on disk.

        Advisories of ptxas become PtxasAdvisory warnings at the Python line that they refer to. Raises AssemblyFailed
        at the line that ptxas rejects, ArchError for a module without a target, and ToolchainError without ptxas.
        """
        return self._assembled().cubin

    @tracebacks.entry
    def sass(self) -> str:
        """Return the SASS of the module's cubin, from nvdisasm."""
        from pyptx_dsl.inspect.answers import disassembled

        return disassembled(self._assembled().cubin)

    @tracebacks.entry
    def resources(self) -> dict[str, Resources]:
        """Return registers, spills, stack and static shared memory of each entry, as reported by ptxas."""
        return dict(self._assembled().resources)

    def _assembled(self) -> Assembly:
        return assembly_of(text_of(self.module(), None), self._platform.target, self._statements)

    # --- the head -------------------------------------------------------------------------------------

    def version(self, major: int, minor: int) -> None:
        """Emit `.version major.minor`, which starts a module: names of earlier modules in the text may be reused.

        Raises DirectiveError for a version that does not exist, unless the module is unchecked.
        """
        numbers = as_count(major), as_count(minor)
        if None in numbers or min(major, minor) < 0:
            raise OperandError(f"a version must be a pair of numbers, got ({major!r}, {minor!r})", help="write (8, 7)")
        self._statements.forget_names()
        self._checker = StatementChecker()
        self._files.clear()
        self._labels.clear()
        self._platform = Platform(self._platform.target, (major, minor))
        self._begin(nodes.Version(major, minor))

    def target(self, *names: str) -> None:
        """Emit `.target name, options`; raise ArchError for an unknown name, unless the module is unchecked.

        Raises DirectiveError for an unknown option, and for a version that does not support the target.
        """
        if not names:
            raise OperandError("a target needs a name", help='write m.target("sm_90a")')
        try:
            self._platform = Platform(find_target(text("a target", names[0])).name, self._platform.version)
        except TargetError as error:
            if not self._statements.unchecked:
                hints = [help for help in (error.help, "disable the checks: module(…, unchecked=True)") if help]
                raise ArchError(error.message, help="; or ".join(hints)) from None
            self._platform = Platform(names[0], self._platform.version)
        self._begin(nodes.Target(names))

    def address_size(self, bits: int) -> None:
        """Emit `.address_size bits`."""
        if bits not in {32, 64}:
            raise OperandError(f"address_size must be 32 or 64, got {bits!r}", help="write address_size=64")
        self._begin(nodes.AddressSize(bits))

    def _begin(self, node: nodes.Statement) -> None:
        """Append a head statement, such as `.target`; unless unchecked, raise DirectiveError if ptxas rejects it."""
        if not self._statements.unchecked:
            self._checker = self._checker.below(node)
        self._statements.append(node)

    def _append(self, node: nodes.Statement) -> None:
        """Append a module statement; raise DirectiveError if ptxas would reject it, unless the module is unchecked."""
        self._check(node)
        self._statements.append(node)

    def _check(self, node: nodes.Statement) -> None:
        if not self._statements.next_unchecked:
            self._checker.check(node)

    # --- formatting of the next statement -------------------------------------------------------------

    def comment(self, text: str) -> None:
        """Emit `// text` on a line of its own before the next statement; each line of `text` becomes one comment."""
        self._statements.comment("\n".join(comment_lines(text)))

    def formatted(self, *, leading: str | None = None, text: str | None = None, unchecked: bool = False) -> None:
        """Set the formatting of the next statement, as `ptx.formatted` does in a body.

        `text` is the header of a function, for a section everything before its `{`. `unchecked` disables the check of
        one declaration, directive, data line or function header, but not of `.version`, `.target` and `.address_size`.
        """
        self._statements.deviate(deviation(leading, text, unchecked=unchecked))

    # --- variables ------------------------------------------------------------------------------------

    def var(
        self,
        space: str,
        name: str,
        dtype: PtxType | str,
        size: Size | tuple[Size, ...] = None,
        **options: Unpack[VariableOptions],
    ) -> str:
        """Declare a variable of a state space and return its name: `m.var("global", "lut", u32, 4, init=[1, 2, 3, 4])`.

        `size` counts elements; None declares a single element, 0 an array of unknown size, a tuple several dimensions.
        Types without a name in `pyptx.types` are strings, `"texref"`. Raises DuplicateNameError for a name that the
        module already declares. Manual: "Variables".
        """
        node = variable_node(space, name, dtype, size, options)
        self._check(node)
        self._statements.declare_variable(node)
        self._statements.append(node)
        return name

    def global_(
        self,
        name: str,
        dtype: PtxType | str,
        size: Size | tuple[Size, ...] = None,
        **options: Unpack[VariableOptions],
    ) -> str:
        """Declare a `.global` variable, like `var`: `m.global_("lut", u32, 4, init=[1, 2, 3, 4], align=16)`."""
        return self.var("global", name, dtype, size, **options)

    def const(
        self,
        name: str,
        dtype: PtxType | str,
        size: Size | tuple[Size, ...] = None,
        **options: Unpack[VariableOptions],
    ) -> str:
        """Declare a `.const` variable, with the arguments of `var`."""
        return self.var("const", name, dtype, size, **options)

    def shared(
        self,
        name: str,
        dtype: PtxType | str,
        size: Size | tuple[Size, ...] = None,
        **options: Unpack[VariableOptions],
    ) -> str:
        """Declare a `.shared` variable, like `var`; with `size=0, linking="extern"`, the dynamic shared memory."""
        return self.var("shared", name, dtype, size, **options)

    # --- functions --------------------------------------------------------------------------------------

    def entry(
        self, name: str, params: Parameters | None = (), **options: Unpack[FunctionOptions]
    ) -> Callable[[Callable[..., object]], FunctionName]:
        """Define a kernel: the decorated function is its body, and its Python name is bound to the kernel's name.

            @m.entry("scale", [m.param("X", u64), u32], visible=True, maxntid=(128,))
            def scale(x, n): ...

        A type alone is a parameter with a compiler-style name, here `scale_param_1`. The body may have an argument for
        each parameter: its name, an operand of `ptx.addr`. `params=None` omits the parentheses. Errors of the body are
        raised at its lines. Manual: "Kernel and Function Directives: .entry".
        """
        return self._definition(header("entry", name, params, (), options, nodes.Block(())), options.get("brace"))

    def func(
        self,
        name: str,
        params: Parameters | None = (),
        returns: Parameters = (),
        **options: Unpack[FunctionOptions],
    ) -> Callable[[Callable[..., object]], FunctionName]:
        """Define a device function, like `entry`; `returns` are its return parameters.

        Arguments of the body are the names of the return parameters, then of the parameters. Manual: "Kernel and
        Function Directives: .func".
        """
        return self._definition(header("func", name, params, returns, options, nodes.Block(())), options.get("brace"))

    def declare(
        self,
        kind: str,
        name: str,
        params: Parameters | None = (),
        returns: Parameters = (),
        **options: Unpack[FunctionOptions],
    ) -> str:
        """Declare a function that is defined elsewhere or later, and return its name.

        `kind` is `"func"` or `"entry"`: `m.declare("func", "vprintf", […], [m.param("r", b32)], linking="extern")`.
        """
        if kind not in {"func", "entry"}:
            raise OperandError(f"invalid kind of function {kind!r}", help='use "func" or "entry"')
        node = header(kind, name, params, returns, options)
        self._check(node)
        self._statements.declare_function(name, kind, defined=False)
        self._statements.append(node)
        return name

    def _definition(self, head: nodes.Function, brace: str | None) -> Callable[[Callable[..., object]], FunctionName]:
        if not self._statements.unchecked and not (self._platform.target and self._platform.version[0]):
            raise ArchError(
                f"the module needs .version and .target before {head.name!r}, whose instructions are checked for them",
                help='pass module(version=(8, 7), target="sm_90a"), or disable the checks: module(unchecked=True)',
            )
        if brace is not None:
            trivia("brace", brace)
        self._check(head)
        self._statements.refuse_section()
        opening = self._statements.opening(sys._getframe(1))  # noqa: SLF001  documented way to get the caller
        self._statements.declare_function(head.name, head.kind, defined=True)
        begun = self._unfinished.begin(
            f"{head.name!r} has a header but no body",
            "use the call as a decorator of the body's function; m.declare declares without a body",
            opening[-1],
        )

        def define(body: Callable[..., object]) -> FunctionName:
            if not self._unfinished.end(begun):
                raise DuplicateNameError(
                    f"{head.name!r} already has a body", help="use a second m.entry or m.func for a second function"
                )
            at = self._statements
            labels = label_names(self._label_scheme, self._bodies)
            finished = traced(body, head, at, self._platform, self._checker, unchecked=at.unchecked, labels=labels)
            self._bodies += 1
            at.append_globals(finished.globals)
            block = finished.body if brace is None else rewritten(finished.body, brace, None)
            at.append_definition(head, block, opening, finished.sites)
            defined = Entry(head, body, self._platform, at.line_origins)
            self._defined[head.name] = defined
            return FunctionName.of(defined, self)

        return define

    # --- other directives -----------------------------------------------------------------------------

    def alias(self, name: str, aliasee: str) -> None:
        """Emit `.alias name, aliasee;`: another name of a function. Manual: ".alias"."""
        names = [identifier(each, "a function") for each in (name, aliasee)]
        self._append(nodes.Alias(*names))

    def file(self, index: int, name: str, timestamp: int | None = None, size: int | None = None) -> None:
        """Emit `.file index "name"`, which `ptx.loc` requires; `timestamp` and `size` (bytes) are optional.

        Raises DuplicateNameError for an index that has a file. Manual: "Debugging Directives: .file".
        """
        node = file_node(index, name, timestamp, size)
        if node.index in self._files and not self._statements.next_unchecked:
            raise DuplicateNameError(f"file index {index} is already used", help=f"choose another index for {name!r}")
        self._files.add(node.index)
        self._statements.append(node)

    def pragma(self, *values: str) -> None:
        """Emit `.pragma "value";` for the rest of the module. Manual: "Descriptions of .pragma Strings"."""
        self._append(pragma_node(values))

    def directive(self, name: str, *arguments: object, terminated: bool = True) -> None:
        """Emit a directive for which the builder has no method, like `ptx.directive`."""
        self._statements.append(directive_node(name, arguments, terminated=terminated))

    def empty(self) -> None:
        """Emit an empty statement, `;`."""
        self._statements.append(nodes.Empty())

    # --- debugging sections -----------------------------------------------------------------------------

    def section(self, name: str) -> SectionBlock:
        """Emit `.section name { … }` around the `m.data` and `m.label` of a `with` block.

        Raises OperandError for a name without its dot. Manual: "Debugging Directives: .section".
        """
        return SectionBlock(name, self._statements, self._unfinished)

    def data(self, dtype: PtxType | str, *values: int | str) -> None:
        """Emit a data line of a section, `.b8 1, 2`: numbers, labels (`".debug_str+4"`), differences of labels.

        `dtype` is b8, b16, b32, b64, or one of the strings "byte", "4byte" and "quad", which mean b8, b32 and b64.
        Raises DirectiveError for a value out of the type's range.
        """
        self._statements.append_data(data_line(dtype, values, unchecked=self._statements.next_unchecked))

    def lines(self, dtype: PtxType, *values: PtxType | int | str | bytes | list[int | str]) -> None:
        r"""Emit data lines of a section, one for each value: `m.lines(b32, ".debug_abbrev", b8, 8, 1, b"main.cu\0")`.

        A type applies to the values after it. Each byte of a bytes object is a line; a list is one line of several
        values. Raises like `data`, and OperandError for a type without values.
        """
        self._statements.append_data(*data_lines(dtype, values, unchecked=self._statements.next_unchecked))

    def label(self, name: str) -> None:
        """Emit a label of a section, `name:`; raise DuplicateNameError if a section already has the label."""
        if identifier(name, "a label") in self._labels and not self._statements.next_unchecked:
            raise DuplicateNameError(f"a section already has the label {name!r}", help="choose another name")
        self._labels.add(name)
        self._statements.append_data(nodes.Label(name, leading_trivia=usual_trivia(0)))
