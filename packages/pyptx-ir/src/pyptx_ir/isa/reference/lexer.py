"""A Pygments lexer based on the instruction table: `pyptx`, also for files that end in `.ptx`.

Needs Pygments (`pip install pygments`), which finds this lexer by its entry point. Pygments' own PTX lexer lacks
guards, labels and newer instructions, and marks most compiler output as errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from pyptx_ir.isa.scalar_types import TYPES
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax.lexemes import NAME_TEXT, NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["PtxLexer"]

_END = r"(?![\w$])"
_WORD = r"\w+(?:::(?:[0-9]+:[0-9]+|\w+))*"  # a part of an opcode between dots: `shared::cta`, `sp::2:4`
# Headings of modules in the output of `cuobjdump -ptx`.
_LISTING = r"^(?:Fatbin \w+ code:|=+$|compressed$|[A-Za-z_][\w ]* = |member )[^\n]*"
# Lexer states: after a guard's `@`, after an opcode, and after a directive.
_GUARD = "guard"
_OPERANDS = "operands"
_DIRECTIVE = "directive"


class PtxLexer(RegexLexer):
    """Lexer of PTX: opcodes and modifiers of the instruction table are keywords and attributes, other words names."""

    name = "PTX (pyptx)"
    aliases: ClassVar[Sequence[str]] = ("pyptx",)
    filenames: ClassVar[Sequence[str]] = ("*.ptx",)
    mimetypes: ClassVar[Sequence[str]] = ("text/x-ptx",)
    url = "https://docs.nvidia.com/cuda/parallel-thread-execution/"
    priority = 0.1
    flags = re.ASCII | re.MULTILINE

    @classmethod
    def get_tokendefs(cls) -> dict[str, list[object]]:
        """Return the lexer's rules; Pygments calls this once, for the first lexer."""
        from pyptx_ir.plugins.manager import manager

        rows = manager().instructions()
        modifiers = {word for row in rows for word in _words(row.syntax, (values for _, values in row.slots))}
        others = _general(set(), others=Keyword.Declaration)
        return {
            "root": [*_opening({row.opcode for row in rows}), *_general(modifiers)],
            _GUARD: [(r"\s+", Whitespace), (NAME_TEXT, Name.Variable, "#pop")],
            _OPERANDS: [(";", Punctuation, "#pop"), *_general(modifiers)],
            _DIRECTIVE: [(r"\n", Whitespace, "#pop"), (r"[;{}()]", Punctuation, "#pop"), *others],
        }


def _words(syntax: str, slots: Iterable[tuple[str, ...]]) -> set[str]:
    """Return the modifiers in the opcode of an instruction row: literal ones, and the values of its slots."""
    head = syntax.partition(" ")[0]
    return {*re.findall(rf"\.({_WORD})", head), *(word for values in slots for word in values)}


def _opening(opcodes: set[str]) -> list[object]:
    """Return the lexer's rules for the beginnings of statements."""
    return [
        (rf"{NAME_TEXT}(?=\s*:(?!:))", Name.Label),
        (r"@@\w+", Keyword.Declaration, _DIRECTIVE),
        (r"@\s*!?", Operator, _GUARD),
        (words(sorted(opcodes), suffix=r"(?![\w$(])"), Keyword, _OPERANDS),
        (rf"\.{_WORD}", Keyword.Declaration, _DIRECTIVE),
        (r"[A-Za-z]\w*(?=\s*[.;{\[%]|\s+[\w$-])", Name.Function, _OPERANDS),
    ]


def _general(modifiers: set[str], others: object = Name.Decorator) -> list[object]:
    """Return lexer rules for any position in PTX; `others` is the token of dotted words except types and modifiers."""
    return [
        (r"\s+", Whitespace),
        (r"//[^\n]*", Comment.Single),
        (r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/", Comment.Multiline),
        (r"^#[^\n]*", Comment.Preproc),
        (_LISTING, Comment.Preproc),
        (r'"[^"\n]*"', String.Double),
        (rf"(?x){NUMBER.pattern}", Number),
        (words(sorted(TYPES), prefix=r"\.", suffix=r"(?![\w:])"), Keyword.Type),
        *([(words(sorted(modifiers - TYPES), prefix=r"\.", suffix=r"(?![\w:])"), Name.Attribute)] if modifiers else []),
        (rf"\.{_WORD}", others),
        (words(sorted(special_registers()), suffix=_END), Name.Builtin),
        (rf"WARP_SZ{_END}", Name.Constant),
        (rf"_{_END}", Name.Builtin.Pseudo),
        (r"%[\w$]+", Name.Variable),
        (NAME_TEXT, Name),
        (r"\|\||&&|==|!=|<=|>=|<<|>>|[-+*/%&|^~!<>=?:@]", Operator),
        (r"[][(){},;]", Punctuation),
    ]
