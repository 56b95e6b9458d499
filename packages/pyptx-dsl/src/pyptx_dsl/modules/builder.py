"""PTX written statement by statement, in the order of the calls."""

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
from pyptx_dsl.tracing.leads import usual_lead
from pyptx_dsl.tracing.statement_checks import StatementChecker
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
    """A module while it is written: each method appends one statement, in the order of the calls.

    `ptx()` is its text, `module()` its tree. Bodies of functions are Python functions that run once, and consist of
    exactly what they call: no register is declared and no `ret` is added that nobody wrote.
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
        """Begin with nothing; see `beginning.module`."""
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
            """Raise UnknownNameError, with the nearest names."""
            known = [each for each in dir(type(self)) if not each.startswith("_")]
            raise UnknownNameError(f"a module has no {name!r}", hint=close(name, known))

    # --- what it becomes ------------------------------------------------------------------------------

    def module(self) -> nodes.Module:
        """Return the tree of what has been written so far.

        Raise ControlFlowError for a function without a body, and for a section that is not ended.
        """
        self._unfinished.refuse()
        return nodes.Module(tuple(self._statements.body), tail=self._statements.tail(self._tail))

    def ptx(self, *, style: Style | str | None = None) -> str:
        """Return the text of what has been written so far.

        `style` gives white space and spelling to every statement of which nothing was said: one that was learnt from a
        text (`pyptx_ir.syntax.style.learn`), or the name of a known one, as `"nvcc"`. What was said stays: by `written`
        and `comment`, `tail=` and `brace=`, and the text of `ptx.raw`. Raise OperandError for what is no style.
        """
        return text_of(self.module(), self._style if style is None else chosen_style(style))

    def described(self) -> str:
        """Return what the module is, in words: its target, its kernels, and how they are run."""
        return described(self.module(), self._defined)

    @tracebacks.entry
    def cubin(self) -> bytes:
        """Return what ptxas makes of the text; cached on disk.

        What ptxas advises becomes a PtxasAdvisory warning at the line of Python that it is about. Raise AssemblyFailed
        at the line that ptxas refuses, ArchError for a module without a target, and ToolchainError when there is no
        ptxas.
        """
        return self._assembled().cubin

    @tracebacks.entry
    def sass(self) -> str:
        """Return the disassembled cubin: what the GPU executes."""
        from pyptx_dsl.inspect.answers import disassembled

        return disassembled(self._assembled().cubin)

    @tracebacks.entry
    def resources(self) -> dict[str, Resources]:
        """Return registers, spills, stack and static shared memory of each entry, as ptxas reports them."""
        return dict(self._assembled().resources)

    def _assembled(self) -> Assembly:
        return assembly_of(text_of(self.module(), None), self._platform.target, self._statements)

    # --- the head -------------------------------------------------------------------------------------

    def version(self, major: int, minor: int) -> None:
        """Write `.version major.minor`, which begins a module: names of one before it in the text are forgotten.

        Raise DirectiveError for a version that there never was, unless the module is unchecked.
        """
        numbers = as_count(major), as_count(minor)
        if None in numbers or min(major, minor) < 0:
            raise OperandError(f"a version is a pair of numbers, not ({major!r}, {minor!r})", hint="write (8, 7)")
        self._statements.forget_names()
        self._checker = StatementChecker()
        self._files.clear()
        self._labels.clear()
        self._platform = Platform(self._platform.target, (major, minor))
        self._begin(nodes.Version(major, minor))

    def target(self, *names: str) -> None:
        """Write `.target name, options`; raise ArchError for an unknown name, unless the module is unchecked.

        Raise DirectiveError for an unknown option, and for a version that does not know the target.
        """
        if not names:
            raise OperandError("a target has a name", hint='write m.target("sm_90a")')
        try:
            self._platform = Platform(find_target(text("a target", names[0])).name, self._platform.version)
        except TargetError as error:
            if not self._statements.unchecked:
                hints = [hint for hint in (error.hint, "check nothing: module(…, unchecked=True)") if hint]
                raise ArchError(error.message, hint="; or ".join(hints)) from None
            self._platform = Platform(names[0], self._platform.version)
        self._begin(nodes.Target(names))

    def address_size(self, bits: int) -> None:
        """Write `.address_size bits`."""
        if bits not in {32, 64}:
            raise OperandError(f"address_size={bits!r}: addresses have 32 or 64 bits", hint="write address_size=64")
        self._begin(nodes.AddressSize(bits))

    def _begin(self, node: nodes.Statement) -> None:
        """Write a statement of the head; raise DirectiveError for one that ptxas refuses, unless it is unchecked."""
        if not self._statements.unchecked:
            self._checker = self._checker.below(node)
        self._statements.append(node)

    def _append(self, node: nodes.Statement) -> None:
        """Write a statement; raise DirectiveError for one that ptxas refuses, unless the module is unchecked."""
        self._check(node)
        self._statements.append(node)

    def _check(self, node: nodes.Statement) -> None:
        if not self._statements.next_unchecked:
            self._checker.check(node)

    # --- what is said of the next statement -----------------------------------------------------------

    def comment(self, text: str) -> None:
        """Put `// text` on a line of its own in front of the next statement; each line of `text` is one."""
        self._statements.comment("\n".join(comment_lines(text)))

    def written(self, *, lead: str | None = None, spelling: str | None = None, unchecked: bool = False) -> None:
        """Say how the next statement is written, as `ptx.written` does for those of a body.

        The spelling of a function is its header, that of a section all before its `{`. `unchecked` lets one
        declaration, directive, line of data or function's header pass that is refused otherwise, but not the head.
        """
        self._statements.deviate(deviation(lead, spelling, unchecked=unchecked))

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

        `size` counts elements; None is a single one, 0 an array of unknown size, a tuple several dimensions. Types
        without a name in `pyptx.types` are strings, `"texref"`. Raise DuplicateNameError for a name that the module
        has. Manual: "Variables".
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
        """Declare a `.global` variable, as `var` does: `m.global_("lut", u32, 4, init=[1, 2, 3, 4], align=16)`."""
        return self.var("global", name, dtype, size, **options)

    def const(
        self,
        name: str,
        dtype: PtxType | str,
        size: Size | tuple[Size, ...] = None,
        **options: Unpack[VariableOptions],
    ) -> str:
        """Declare a `.const` variable, as `var` does."""
        return self.var("const", name, dtype, size, **options)

    def shared(
        self,
        name: str,
        dtype: PtxType | str,
        size: Size | tuple[Size, ...] = None,
        **options: Unpack[VariableOptions],
    ) -> str:
        """Declare a `.shared` variable, as `var` does; with `size=0, linking="extern"`, the dynamic shared memory."""
        return self.var("shared", name, dtype, size, **options)

    # --- functions --------------------------------------------------------------------------------------

    def entry(
        self, name: str, params: Parameters | None = (), **options: Unpack[FunctionOptions]
    ) -> Callable[[Callable[..., object]], FunctionName]:
        """Define a kernel: the decorated function is its body, and its name becomes the kernel's name.

            @m.entry("scale", [m.param("X", u64), u32], visible=True, maxntid=(128,))
            def scale(x, n): ...

        A type alone is a parameter that is named as compilers do, here `scale_param_1`. The body may have an argument
        for each parameter: its name, an operand of `ptx.addr`. `params=None` leaves the parentheses out. Raise whatever
        the body raises, at its line. Manual: "Kernel and Function Directives: .entry".
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

        Arguments of the body are the names of what it returns, then of the parameters.
        Manual: "Kernel and Function Directives: .func".
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
        """Declare a function that is defined elsewhere, or further down, and return its name.

        `kind` is `"func"` or `"entry"`: `m.declare("func", "vprintf", […], [m.param("r", b32)], linking="extern")`.
        """
        if kind not in {"func", "entry"}:
            raise OperandError(f"{kind!r} is no kind of function", hint='"func" or "entry"')
        node = header(kind, name, params, returns, options)
        self._check(node)
        self._statements.declare_function(name, kind, defined=False)
        self._statements.append(node)
        return name

    def _definition(self, head: nodes.Function, brace: str | None) -> Callable[[Callable[..., object]], FunctionName]:
        if not self._statements.unchecked and not (self._platform.target and self._platform.version[0]):
            raise ArchError(
                f"the module has no .version and .target yet, by which {head.name!r} is checked",
                hint='begin with module(version=(8, 7), target="sm_90a"), or check nothing: module(unchecked=True)',
            )
        if brace is not None:
            trivia("brace", brace)
        self._check(head)
        self._statements.refuse_section()
        opening = self._statements.opening(sys._getframe(1))  # noqa: SLF001  the documented way to see one's caller
        self._statements.declare_function(head.name, head.kind, defined=True)
        begun = self._unfinished.begin(
            f"{head.name!r} has a header and no body",
            "write the call above the function that is its body, as a decorator; m.declare has no body",
            opening[-1],
        )

        def define(body: Callable[..., object]) -> FunctionName:
            if not self._unfinished.end(begun):
                raise DuplicateNameError(
                    f"{head.name!r} has a body already", hint="another function is another m.entry"
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

    # --- the rest ---------------------------------------------------------------------------------------

    def alias(self, name: str, aliasee: str) -> None:
        """Write `.alias name, aliasee;`: another name of a function. Manual: ".alias"."""
        names = [identifier(each, "a function") for each in (name, aliasee)]
        self._append(nodes.Alias(*names))

    def file(self, index: int, name: str, timestamp: int | None = None, size: int | None = None) -> None:
        """Write `.file index "name"`, which `ptx.loc` counts on; `timestamp` and `size` (bytes) may follow it.

        Raise DuplicateNameError for an index that has a file. Manual: "Debugging Directives: .file".
        """
        node = file_node(index, name, timestamp, size)
        if node.index in self._files and not self._statements.next_unchecked:
            raise DuplicateNameError(f"there is a file {index} already", hint=f"give {name!r} another index")
        self._files.add(node.index)
        self._statements.append(node)

    def pragma(self, *values: str) -> None:
        """Write `.pragma "value";` for all that follows. Manual: "Descriptions of .pragma Strings"."""
        self._append(pragma_node(values))

    def directive(self, name: str, *arguments: object, terminated: bool = True) -> None:
        """Write a directive without a method of its own, as `ptx.directive` does."""
        self._statements.append(directive_node(name, arguments, terminated=terminated))

    def empty(self) -> None:
        """Write a `;`."""
        self._statements.append(nodes.Empty())

    # --- debugging sections -----------------------------------------------------------------------------

    def section(self, name: str) -> SectionBlock:
        """Write `.section name { … }` around the `m.data` and `m.label` of a `with` block.

        Raise OperandError for a name without its dot. Manual: "Debugging Directives: .section".
        """
        return SectionBlock(name, self._statements, self._unfinished)

    def data(self, dtype: PtxType | str, *values: int | str) -> None:
        """Write a line of a section, `.b8 1, 2`: numbers, labels (`".debug_str+4"`), differences of labels.

        `dtype` is b8, b16, b32, b64, or one of the strings "byte", "4byte" and "quad", which mean b8, b32 and b64.
        Raise DirectiveError for a value that the type cannot hold.
        """
        self._statements.append_data(data_line(dtype, values, unchecked=self._statements.next_unchecked))

    def lines(self, dtype: PtxType, *values: PtxType | int | str | bytes | list[int | str]) -> None:
        r"""Write lines of a section, one for each value: `m.lines(b32, ".debug_abbrev", b8, 8, 1, b"main.cu\0")`.

        A type holds for the values behind it. Bytes are a line for each of them, a list is one line of several values.
        Raise as `data` does, and OperandError for a type without values.
        """
        self._statements.append_data(*data_lines(dtype, values, unchecked=self._statements.next_unchecked))

    def label(self, name: str) -> None:
        """Write a label of a section, `name:`; raise DuplicateNameError for one that a section has."""
        if identifier(name, "a label") in self._labels and not self._statements.next_unchecked:
            raise DuplicateNameError(f"a section has the label {name!r} already", hint="choose another name")
        self._labels.add(name)
        self._statements.append_data(nodes.Label(name, lead=usual_lead(0)))
