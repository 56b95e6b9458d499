"""The parser: text to tree. Manual: "Syntax".

The driver keeps a stack of open braces and reads one statement at a time. Ordinary compiler output uses the tables of
`fast_path`; other statements are read lexeme by lexeme. Both paths return the same tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.collector import collector_paused
from pyptx_ir.syntax.cursor import Cursor, SyntaxFault
from pyptx_ir.syntax.directives import DATA, data, directive, dwarf
from pyptx_ir.syntax.errors import PtxSyntaxError
from pyptx_ir.syntax.fast_path import FastReader
from pyptx_ir.syntax.frames import DEEPEST_BLOCK, OpenBrace
from pyptx_ir.syntax.functions import PENDING
from pyptx_ir.syntax.instructions import instruction_or_label
from pyptx_ir.syntax.lexemes import DOTTED_NAME, SECTION
from pyptx_ir.syntax.nodes import (
    Empty,
    Function,
    Instruction,
    Invalid,
    Label,
    Module,
    Section,
    SectionData,
    Statement,
)
from pyptx_ir.syntax.operand_parser import OperandParser
from pyptx_ir.syntax.recovery import resume
from pyptx_ir.syntax.source import Source, Span

if TYPE_CHECKING:
    from pyptx_ir.syntax.operands import Operand

# Text that is not PTX has an error in every line. After this many errors, the remaining text is one `Invalid` node.
MOST_ERRORS = 1000
# Minimum text length in characters at which the garbage collector's visits to the new tree would cost more than a
# collection of young objects before parsing.
_LARGE = 8_000
_NO_BLANKS = "\v\x1c\x1d\x1e\x1f"
_DATA = tuple(f".{name}" for name in sorted(DATA))


def parse(text: str, name: str = "<string>") -> Module:
    """Parse a module losslessly: `emit(parse(text)) == text`.

    A listing of `cuobjdump -ptx` is accepted; the lines before each of its modules are trivia.

    Raises:
        PtxSyntaxError: for the first invalid statement; its `errors` contains all of them.

    """
    module, errors = parse_recovering(text, name)
    _raise_first(errors)
    return module


def parse_recovering(text: str, name: str = "<string>") -> tuple[Module, tuple[PtxSyntaxError, ...]]:
    """Parse a module and skip invalid statements: each becomes an `Invalid` node and one error.

    The tree still contains the whole text: `emit(module) == text`.
    """
    return _parse(Source(text, name))


def parse_statements(text: str, name: str = "<string>") -> tuple[Statement, ...]:
    """Parse statements as they occur in a function, a module or a section.

    Raises:
        PtxSyntaxError: for the first invalid statement; its `errors` contains all of them.

    """
    module, errors = _parse(Source(text, name), sections=True)
    _raise_first(errors)
    return module.body


def parse_instruction(text: str) -> Instruction:
    """Parse one instruction, with its `;`.

    Raises:
        PtxSyntaxError: the text is invalid, or not exactly one instruction.

    """
    match parse_statements(text):
        case (Instruction() as instruction,):
            return instruction
        case _:
            raise PtxSyntaxError("expected one instruction", Source(text), Span(0, len(text)))


def parse_operand(text: str) -> Operand:
    """Parse one operand, as in any instruction except `call`, where `(a)` is a list.

    Raises:
        PtxSyntaxError: the text is invalid, or more than one operand.

    """
    cursor = Cursor(text)
    try:
        operand = OperandParser(cursor).operand()
        if cursor.skip() < len(text):
            cursor.refuse("the end of the operand")
    except SyntaxFault as fault:
        raise _located(fault, Source(text)) from None
    return operand


def _parse(source: Source, *, sections: bool = False, fast: bool = True) -> tuple[Module, tuple[PtxSyntaxError, ...]]:
    # The characters of `_NO_BLANKS` are whitespace for Python, but not for ptxas: text with one is left to the full
    # parser.
    usual = not any(mark in source.text for mark in _NO_BLANKS)
    parser = _Parser(source, sections=sections, fast=fast and usual)
    with collector_paused(lasting=len(source.text) >= _LARGE):
        module = parser.module()
    return module, tuple(sorted(parser.errors, key=lambda error: error.span.start))


def _raise_first(errors: tuple[PtxSyntaxError, ...]) -> None:
    if errors:
        errors[0].errors = errors
        raise errors[0]


def _located(fault: SyntaxFault, source: Source) -> PtxSyntaxError:
    return PtxSyntaxError(fault.message, source, Span(fault.start, fault.end), fault.help)


class _Parser:
    def __init__(self, source: Source, *, sections: bool, fast: bool) -> None:
        self.fast = FastReader() if fast else None
        self.source = source
        self.cursor = Cursor(source.text)
        self.frames = [OpenBrace("", 0)]
        self.errors: list[PtxSyntaxError] = []
        self.sections = sections

    def module(self) -> Module:
        """Read the whole text, and return its module."""
        while True:
            try:
                if not self.step():
                    break
            except SyntaxFault as fault:
                self.recover(fault)
        tail = self.cursor.leading_trivia
        while len(self.frames) > 1:
            self.give_up("'{' is never closed")
        return Module(tuple(self.frames[0].items), tail)

    def step(self) -> bool:
        """Read one statement or brace, and add it to the innermost open brace; return False at the end of the text."""
        cursor, frame = self.cursor, self.frames[-1]
        if self.fast is not None:
            read = self.fast.lines if isinstance(frame.header, Section) else self.fast.statements
            read(cursor, self.frames)
            frame = self.frames[-1]
        first = cursor.begin()
        if first == "":
            return False
        if first == "{":
            self.open(None)
        elif first == "}":
            self.close()
        elif first == ";":
            if isinstance(frame.header, Section):
                cursor.refuse("a line of a section")
            cursor.eat(";")
            frame.items.append(Empty(**cursor.spelling()))
        else:
            self.statement(first)
        return True

    def statement(self, first: str) -> None:
        """Read a statement that does not begin with a brace or `;`, and open its body if it has one."""
        frame = self.frames[-1]
        in_section = isinstance(frame.header, Section)
        node: Statement
        if first == ".":
            if self.section_head():
                return
            at_root = self.sections and len(self.frames) == 1
            node = data(self.cursor) if in_section or (at_root and self.data_is_next()) else directive(self.cursor)
        elif self.cursor.sees("@@"):
            node = dwarf(self.cursor)
        else:
            node = instruction_or_label(self.cursor)
        if in_section and not isinstance(node, SectionData | Label):
            raise SyntaxFault(
                "not a line of a section", self.cursor.start, self.cursor.end, "add a missing '}' before it"
            )
        if isinstance(node, Function) and node.body is PENDING:
            self.open(node)
            return
        frame.items.append(node)

    def data_is_next(self) -> bool:
        return self.source.text.startswith(_DATA, self.cursor.start)

    def section_head(self) -> bool:
        """Open a section at `.section name {` if that follows; return whether it did."""
        cursor = self.cursor
        if cursor.take(SECTION) is None:
            return False
        head, leading_trivia = cursor.end, cursor.leading_trivia
        name = cursor.take(DOTTED_NAME) or cursor.refuse("a section's name", "write a name such as .debug_str")
        if not cursor.sees("{"):
            cursor.refuse("'{'", "put the lines of a section in braces")
        text = cursor.text[head : cursor.at]
        self.open(Section(name=name, body=(), head=text, leading_trivia=leading_trivia))
        return True

    def open(self, header: Function | Section | None) -> None:
        """Take `{` and open a frame for a block, or for the body of `header`."""
        cursor = self.cursor
        if header is None and isinstance(self.frames[-1].header, Section):
            cursor.refuse("a line of a section")
        if isinstance(header, Function) or isinstance(self.frames[-1].header, Section):
            # Functions and sections cannot be nested: report a missing brace once, not errors for the rest of the text.
            while len(self.frames) > 1:
                self.give_up("'{' is not closed before the next function or section")
        if len(self.frames) > DEEPEST_BLOCK:
            raise SyntaxFault(f"blocks nest deeper than {DEEPEST_BLOCK} levels", cursor.at, cursor.at + 1)
        leading_trivia = cursor.text[cursor.end : cursor.skip()] if header is not None else cursor.leading_trivia
        at = cursor.at
        cursor.eat("{")
        self.frames.append(OpenBrace(leading_trivia, at, header))

    def close(self) -> None:
        """Take `}`, and add the closed statement to the enclosing frame."""
        cursor = self.cursor
        if len(self.frames) == 1:
            raise SyntaxFault("'}' without a '{'", cursor.at, cursor.at + 1, "remove it")
        cursor.eat("}")
        frame = self.frames.pop()
        self.frames[-1].items.append(frame.closed(cursor.leading_trivia))

    def recover(self, fault: SyntaxFault) -> None:
        """Record an error, keep the text of the invalid statement as one node, and continue after this text."""
        cursor, text = self.cursor, self.source.text
        self.errors.append(_located(fault, self.source))
        full = len(self.errors) >= MOST_ERRORS
        end = len(text) if full else resume(text, cursor.start, fault.start)
        if full:
            message = f"too many errors ({MOST_ERRORS}): the rest of the text is not parsed"
            self.errors.append(PtxSyntaxError(message, self.source, Span(fault.start, end)))
        cursor.at = cursor.end = end
        self.frames[-1].items.append(Invalid(message=fault.message, **cursor.spelling()))

    def give_up(self, message: str) -> None:
        """Report the innermost open brace as an error; its statements move to the enclosing block or module."""
        frame = self.frames.pop()
        items = self.frames[-1].items
        leading_trivia = frame.leading_trivia
        if isinstance(frame.header, Function):
            items.append(Invalid(message=message, leading_trivia=frame.header.leading_trivia, raw=frame.header.raw))
        elif isinstance(frame.header, Section):
            items.append(
                Invalid(
                    message=message, leading_trivia=frame.header.leading_trivia, raw=f".section{frame.header.head}{{"
                )
            )
        if not isinstance(frame.header, Section):
            items.append(Invalid(message=message, leading_trivia=leading_trivia, raw="{"))
        items.extend(frame.items)
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(PtxSyntaxError(message, self.source, Span(frame.at, frame.at + 1), "add a '}'"))
