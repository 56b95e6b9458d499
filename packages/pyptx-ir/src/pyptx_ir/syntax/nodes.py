"""Statements of a PTX module.

Every statement has its `leading_trivia` (whitespace and comments before the first token) verbatim. A parsed statement
also has its exact source text, `raw`. None means: according to the style passed to `emit`, or canonical. No
node stores a position, a parent or the source; `positions` computes spans on demand. Two nodes are equal if they mean
the same: `leading_trivia` and `raw` do not count.

The parser uses one node for all identical `.loc` of a text, and for all identical lines of its sections.

`Block` also has the trivia before its `}`, and `Module` has the trivia after the last token. The `raw` of a `Function`
is its header without the body. The only edit is `evolve`.

Keywords are stored without their dot (`"maxntid"`, `"managed"`, `"b32"`). Section names keep it, because it is part of
the name. An argument of type `str` is a string literal without its quotes.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand
from pyptx_ir.values import Value, value

USUAL_TRIVIA = "\n\t"


@value(kw_only=True)
class Node(Value):
    """Base class of statements: trivia and source text."""

    leading_trivia: str | None = field(default=None, compare=False, repr=False)
    raw: str | None = field(default=None, compare=False, repr=False)


def trivia_of(node: Node) -> str:
    """Return the leading trivia of a statement, or the canonical trivia if it has none of its own."""
    return USUAL_TRIVIA if node.leading_trivia is None else node.leading_trivia


# --- inside functions ---------------------------------------------------------------------------


@value
class Guard(Value):
    """Guard of an instruction: `@p` or `@!p`."""

    register: str
    negated: bool = False


@value
class Instruction(Node):
    """`@guard opcode operands;` with the opcode split at its dots.

    `mbarrier.try_wait.shared::cta.b64` is `("mbarrier", "try_wait", "shared::cta", "b64")`.
    """

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None


@value
class Label(Node):
    """`name:`; also the label of a `.branchtargets`, `.calltargets` or `.callprototype`, as a separate statement."""

    name: str


@value
class Block(Node):
    """`{ … }`, a scope of names and labels: `leading_trivia` precedes `{`, `closing_trivia` precedes `}`."""

    body: tuple[Statement, ...]
    closing_trivia: str | None = field(default=None, compare=False, repr=False)


@value
class RegisterName(Value):
    """One declarator of `.reg`: `name`, or `name<count>` for `name0 … name(count-1)`."""

    name: str
    count: int | None = None


@value
class RegisterDeclaration(Node):
    """`.reg .v2 .b32 a, b<8>;` (`vector` is `"v2"`, `"v4"`, or None)."""

    type: str
    names: tuple[RegisterName, ...]
    vector: str | None = None
    alignment: int | None = None


@value
class BranchTargets(Node):
    """`.branchtargets a, b;` after the label that names the list; a range of labels is one target, `"N<5>"`."""

    targets: tuple[str, ...]


@value
class CallTargets(Node):
    """`.calltargets f, g;` after the label that names the list."""

    targets: tuple[str, ...]


@value
class InlinedAt(Value):
    """The tail of a `.loc`: `, function_name label+offset, inlined_at file line column`."""

    function_label: str
    offset: int
    file: int
    line: int
    column: int


@value
class Loc(Node):
    """`.loc file line column` with an optional inlining tail."""

    file: int
    line: int
    column: int
    inlined_at: InlinedAt | None = None


@value
class Empty(Node):
    """A stray `;`."""


@value
class Invalid(Node):
    """Text skipped by error recovery; only in the tree of a recovering parse. `raw` always contains the text."""

    message: str


# --- variables and functions --------------------------------------------------------------------


@value
class Declarator(Value):
    """One name of a variable declaration: `name[2][3] = initializer`; an empty bracket is None.

    `count` declares a family of names, `name<count>`. The fields of an opaque initializer, `{ filter_mode = nearest }`,
    are `Binary("=", …)`.
    """

    name: str
    dimensions: tuple[Operand | None, ...] = ()
    initializer: Operand | None = None
    count: int | None = None


@value
class Attribute(Value):
    """One entry of `.attribute(…)`: `.managed`, `.unified(uuid1, uuid2)`."""

    name: str
    arguments: tuple[Operand, ...] = ()


@value
class Variable(Node):
    """A declaration in a state space other than `.reg`.

    `space` is `global`, `const`, `shared`, `local`, `param` or `tex`, including a sub-qualifier (`shared::cta`,
    `const[3]`). `linking` is `extern`, `visible`, `weak`, `common` or None. `type` has no dot. `vector` is `"v2"`,
    `"v4"`, `"v8"` or None.
    """

    space: str
    type: str
    declarators: tuple[Declarator, ...]
    linking: str | None = None
    alignment: int | None = None
    vector: str | None = None
    attributes: tuple[Attribute, ...] = ()


@value
class Pointer(Value):
    """`.ptr .space .align n` of a kernel parameter."""

    space: str | None = None
    alignment: int | None = None


@value
class Parameter(Value):
    """One parameter of a function header; `space` is `param` or `reg`. The name may be `_` or empty in prototypes."""

    type: str
    name: str
    space: str = "param"
    alignment: int | None = None
    vector: str | None = None
    pointer: Pointer | None = None
    dimensions: tuple[Operand | None, ...] = ()
    attributes: tuple[Attribute, ...] = ()


@value
class HeaderDirective(Value):
    """A directive between a function's parameters and its body: `.maxntid 128, 1, 1`, `.noreturn`, `.pragma "…"`."""

    name: str
    arguments: tuple[Operand | str, ...] = ()


@value
class Function(Node):
    """`.entry` or `.func`, a definition or (with `body=None`) a declaration ending in `;`.

    `parameters=None` means that the header has no parenthesized list. `returns` contains the return parameters of a
    `.func`. `linking` is `visible`, `extern`, `weak` or None.
    """

    kind: str
    name: str
    parameters: tuple[Parameter, ...] | None = ()
    returns: tuple[Parameter, ...] = ()
    linking: str | None = None
    attributes: tuple[Attribute, ...] = ()
    directives: tuple[HeaderDirective, ...] = ()
    body: Block | None = None


@value
class CallPrototype(Node):
    """`.callprototype (returns) _ (parameters) directives;` after the label that names it."""

    parameters: tuple[Parameter, ...] | None = ()
    returns: tuple[Parameter, ...] = ()
    directives: tuple[HeaderDirective, ...] = ()


# --- module level -------------------------------------------------------------------------------


@value
class Version(Node):
    """`.version major.minor`."""

    major: int
    minor: int


@value
class Target(Node):
    """`.target sm_90a, debug`."""

    names: tuple[str, ...]


@value
class AddressSize(Node):
    """`.address_size 64`."""

    bits: int


@value
class File(Node):
    """`.file index "name"[, timestamp[, size]]`."""

    index: int
    name: str
    timestamp: int | None = None
    size: int | None = None


@value
class SectionData(Node):
    """A data line of a section: `.b8 1, 2, 3`, `.b32 label+4`, `.b64 a-b`, `.quad 1`."""

    type: str
    values: tuple[Operand, ...]


@value
class Section(Node):
    """`.section name { … }`: DWARF data lines and labels. `raw` stays None; the parts have their own source text.

    `head` is the source text from `.section` to the `{`, in place of `raw`.
    """

    name: str
    body: tuple[SectionData | Label | Invalid, ...]
    head: str | None = field(default=None, compare=False, repr=False)
    closing_trivia: str | None = field(default=None, compare=False, repr=False)


@value
class Alias(Node):
    """`.alias name, aliasee;`."""

    name: str
    aliasee: str


@value
class Pragma(Node):
    """`.pragma "a", "b";` without the quotes."""

    values: tuple[str, ...]


@value
class Directive(Node):
    """A directive without a node class of its own (`.maxnreg` in a body, `@@DWARF .byte 0x2b, 0`, …).

    `name` has no dot; it is `@@DWARF` for the old debugging lines (then the first argument is the kind of line).
    `terminated` is whether it ends in `;`. After a directive that does not, an `Empty` would be parsed as its `;`.
    """

    name: str
    arguments: tuple[Operand | str, ...] = ()
    terminated: bool = True


Statement: TypeAlias = (
    Instruction
    | Label
    | Block
    | RegisterDeclaration
    | BranchTargets
    | CallTargets
    | Loc
    | Empty
    | Invalid
    | Variable
    | Function
    | CallPrototype
    | Version
    | Target
    | AddressSize
    | File
    | Section
    | SectionData
    | Alias
    | Pragma
    | Directive
)


@value
class Module(Value):
    """A whole PTX text: its statements in order, and the trivia after the last token."""

    body: tuple[Statement, ...]
    tail: str | None = field(default=None, compare=False, repr=False)
