r"""Regions of inline assembly: one template per asm string, as PTX with names and numbers erased.

The text between the begin and end comments of a region has its author's formatting, not the compiler's. A template is
the text of a region, `"// begin inline asm\n\tadd.s32 %a,%a,0;\n\t// end inline asm"`. Statements with the same
opcodes and the same separators between their words match it anywhere. The words `a` and `0` match all words, others
only themselves. An opcode of one word, `mbarrier`, matches all opcodes that begin with it, because authors often repeat
a statement with another modifier. LLVM's comment after a `.loc` is a placeholder (see `placeholders`).

If a region has no template, the tree stores its begin comment in leading trivia. The statements up to the end comment
then have style rules of their own, with keys that begin with `asm`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.nodes import Instruction, Loc, RegisterDeclaration
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.style.items import REGISTERS, START, Item, file_names, items, opcode_number
from pyptx_ir.syntax.style.placeholders import INDENT, MARGIN, Context, abstracted, filled, repeats
from pyptx_ir.syntax.style.tokens import cut, same_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MARK = "inline asm"
BEGIN, FINISH = f"// begin {MARK}", f"// end {MARK}"
BEFORE = Item(START, START, None, "", "")
ASM = Item("asm", "asm", None, None, None)
_LONGEST = 64  # maximum number of statements and braces in an asm region that becomes a template
_USES = 2  # minimum number of equal inline-asm regions for a template without names
_MARKS = 2  # number of comments that delimit an inline-asm region: begin and end
_ANY = frozenset({"a", "0"})  # wildcards: words of an inline-asm template that match any word of a statement
_COMPILERS = re.compile(
    r"[a-z]{1,2}[0-9]+", re.ASCII
)  # register names, without `%`, that a compiler chose and not the author of the inline assembly

# Matching key of a statement: its kind, its opcode, and the separators between the words of its canonical text.
Signature: TypeAlias = "tuple[str, str, tuple[str, ...]]"


@dataclass(frozen=True, slots=True)
class Template:
    """Template of an asm region: leading `trivia` and source text (`forms`, with `%s` for each word) per statement.

    `first` is the `Item.name` of the first statement, `closing` the trivia after the last one. A text that is not
    `sound` has syntax errors. `words` are the words that each statement must have, with their indices.
    """

    text: str
    first: str
    sound: bool
    signatures: tuple[Signature, ...]
    trivia: tuple[str, ...]
    forms: tuple[str, ...]
    closing: str
    words: tuple[tuple[tuple[int, str], ...], ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Region of inline assembly between its begin and end comments: statements `start` to `end` (exclusive)."""

    start: int
    end: int


def signature(item: Item, *, broad: bool = False) -> Signature:
    """Return the key that a statement of an asm template shares with matching ones; with `broad`, without modifiers."""
    marks = tuple(cut(item.canonical())[::2]) if item.shape is None else item.shape.canonical
    return item.kind, _opcode(item, broad=broad), marks


def _opcode(item: Item, *, broad: bool) -> str:
    node = item.node
    if not isinstance(node, Instruction):
        return ""
    return node.opcode[0] if broad else ".".join(node.opcode)


class Signatures:
    """Exact and broad `signature` of each statement of a sequence, computed at first use."""

    def __init__(self, row: Sequence[Item]) -> None:
        self.row = row
        self._made: list[tuple[Signature, Signature] | None] = [None] * len(row)

    def __getitem__(self, at: int) -> tuple[Signature, Signature]:
        """Return the exact and the broad `signature` of the statement at index `at`."""
        made = self._made[at]
        if made is None:
            item = self.row[at]
            exact = signature(item)
            made = self._made[at] = exact, (exact[0], _opcode(item, broad=True), exact[2])
        return made

    def of(self, region: Region, *, broad: bool = False) -> tuple[Signature, ...]:
        """Return the exact, or the broad, signatures of the statements in an asm region."""
        return tuple([self[at][broad] for at in range(region.start, region.end)])


class Matcher:
    """Finder of the asm regions that match templates in a sequence of statements."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._first: defaultdict[Signature, list[Template]] = defaultdict(list)
        self._names: set[str] = set()
        for text in texts:
            template = _read(text)
            self._first[template.signatures[0]].append(template)
            self._names.add(template.first)
            if template.first == RegisterDeclaration.__name__:
                self._names.add(REGISTERS)

    def matches(self, signatures: Signatures) -> dict[int, Template]:
        """Return, by index of an asm region's first statement, the longest template that matches there."""
        found: dict[int, Template] = {}
        end = 0
        if not self._names:
            return found
        for at, item in enumerate(signatures.row):
            if item.name in self._names and at >= end:
                template = self._longest(signatures, at)
                if template is not None:
                    found[at], end = template, at + len(template.signatures)
        return found

    def _longest(self, signatures: Signatures, at: int) -> Template | None:
        exact, broad = signatures[at]
        candidates = self._first.get(exact, [])
        if broad != exact:
            candidates = [*candidates, *self._first.get(broad, ())]
        matching = [one for one in candidates if _matches(one, signatures, at)]
        return max(matching, key=_precision) if len(matching) > 1 else matching[0] if matching else None


def _precision(template: Template) -> tuple[int, int, int]:
    """Return an asm template's sort key: number of statements, number of required words, total length of opcodes."""
    opcodes = sum(len(opcode) for _, opcode, _ in template.signatures)
    return len(template.signatures), sum(map(len, template.words)), opcodes


def _matches(template: Template, signatures: Signatures, at: int) -> bool:
    row = signatures.row
    if at + len(template.signatures) > len(row):
        return False
    for number, expected in enumerate(template.signatures, at):
        if row[number].kind != expected[0] or expected not in signatures[number]:
            return False
    return all(_has(row[number], words) for number, words in enumerate(template.words, at) if words)


def _has(item: Item, words: Iterable[tuple[int, str]]) -> bool:
    own = cut(item.canonical())[1::2]
    return all(own[number] == word for number, word in words)


@lru_cache(maxsize=1 << 10)
def _read(text: str) -> Template:
    """Parse the text of an asm template. Cached, because inference and emission use each template several times."""
    module, errors = parse_recovering(text)
    *row, end = items(module)
    forms = tuple([_form(item) for item in row])
    trivia = tuple([_placed(item.leading_trivia or "") for item in row])
    words = tuple([tuple(_needed(item)) for item in row])
    first = row[0].name if row else ""
    return Template(text, first, not errors, tuple(map(signature, row)), trivia, forms, end.leading_trivia or "", words)


def _placed(leading_trivia: str) -> str:
    """Return leading trivia in an asm template, with `{margin}` in place of the space before LLVM's comments."""
    return leading_trivia.replace(" //", f"{MARGIN}//") if repeats(leading_trivia) else leading_trivia


def _needed(item: Item) -> Iterator[tuple[int, str]]:
    """Yield the index and the text of each word in an asm template's statement that matches only an equal word."""
    parts, opcode = cut(item.canonical()), opcode_number(item)
    for number, (between, word) in enumerate(zip(parts[::2], parts[1::2], strict=False)):
        if number != opcode and not between.endswith(".") and word not in _ANY:
            yield number, word


def _form(item: Item) -> str:
    return "%s".join([text.replace("%", "%%") for text in cut(item.raw or "")[::2]])


@dataclass(slots=True)
class ItemInContext:
    """A statement in, or directly after, an asm region that matches a template.

    The leading trivia consists of `closing`, the trivia that a rule of the style gives between `before` and
    `stands_for`, and `opening`. Style rules see the region as one statement, `ASM`. For a statement inside the region,
    `inner` is the leading trivia itself, and `form` the source text with `%s` for each word.
    """

    item: Item
    before: Item
    stands_for: Item
    closing: str = ""
    opening: str = ""
    inner: str | None = None
    form: str | None = None


def laid(row: Sequence[Item], templates: Mapping[int, Template]) -> dict[int, ItemInContext]:
    """Return, by index, the statements in asm regions that match `templates`, and the statement after each region."""
    parts: dict[int, ItemInContext] = {}
    for at, template in templates.items():
        behind = parts.get(at)
        before = row[at - 1] if at else BEFORE
        opening, *trivia = template.trivia
        closing = "" if behind is None else behind.closing
        parts[at] = ItemInContext(row[at], ASM if behind else before, ASM, closing, opening, form=template.forms[0])
        end = at + len(template.forms)
        for number, leading_trivia, form in zip(range(at + 1, end), trivia, template.forms[1:], strict=True):
            parts[number] = ItemInContext(row[number], row[number - 1], row[number], inner=leading_trivia, form=form)
        if end < len(row):
            parts[end] = ItemInContext(row[end], ASM, row[end], template.closing)
    return parts


# --- inference -------------------------------------------------------------------------------------------


def still_inside(leading_trivia: str, *, inside: bool) -> bool:
    """Return whether the statement after this trivia is in inline asm; without begin or end comment, `inside`."""
    begin, finish = leading_trivia.rfind(BEGIN), leading_trivia.rfind(FINISH)
    return begin > finish if begin != finish else inside


def regions(row: Sequence[Item]) -> Iterator[Region]:
    """Yield the regions of a text between begin and end comments of inline assembly."""
    start = None
    for at, item in enumerate(row):
        leading_trivia = item.leading_trivia or ""
        if MARK not in leading_trivia:
            continue
        if start is not None and FINISH in leading_trivia:
            yield Region(start, at)
            start = None
        if leading_trivia.rfind(BEGIN) > leading_trivia.rfind(FINISH):
            start = at


def templates(signatures: Signatures) -> tuple[str, ...]:
    """Return the asm templates that reproduce more regions of the text than they match wrongly.

    The text of several equal regions becomes a template without names. Each remaining region becomes a template with
    its author's names.
    """
    row = signatures.row
    found = list(regions(row))
    if not found:
        return ()
    files = file_names(row)
    exact = _usual(signatures, found, files, broad=False)
    rest = [region for region in found if signatures.of(region) not in exact]
    begins = {region.start: region for region in found}
    wide = _right([*exact.values(), *_usual(signatures, rest, files, broad=True).values()], signatures, begins, files)
    matches = Matcher(wide).matches(signatures)
    left = [each for each in found if each.start not in matches or not _spelt(row, each, matches[each.start], files)]
    narrow = [text for each in left if (text := _of_author(signatures, each, files)) is not None]
    return _right(list(dict.fromkeys([*wide, *narrow])), signatures, begins, files) if narrow else wide


def _usual(
    signatures: Signatures, found: Iterable[Region], files: Mapping[int, str], *, broad: bool
) -> dict[tuple[Signature, ...], str]:
    """Return, by signatures, the most frequent erased text of the asm regions with these signatures, if frequent."""
    spelt: defaultdict[tuple[Signature, ...], Counter[str]] = defaultdict(Counter)
    for region in found:
        spelt[signatures.of(region, broad=broad)].update(_erased(signatures.row, region, files, broad=broad))
    usual = {own: texts.most_common(1)[0] for own, texts in spelt.items() if texts}
    return {own: text for own, (text, times) in usual.items() if times >= _USES and _reads(text, own)}


def _of_author(signatures: Signatures, region: Region, files: Mapping[int, str]) -> str | None:
    """Return the template of an asm region with its author's names; None if a `.loc` comment has no placeholder."""
    row = signatures.row
    text = next(_erased(row, region, files, named=True), None)
    if text is None or not _reads(text, signatures.of(region)):
        return None
    located = any(isinstance(item.node, Loc) for item in row[region.start : region.end])
    return None if located and text.count("//") > text.count("// {") + _MARKS else text


def _right(
    texts: Sequence[str], signatures: Signatures, begins: Mapping[int, Region], files: Mapping[int, str]
) -> tuple[str, ...]:
    """Drop the asm templates that reproduce the text of at most half of the statement sequences that they match."""
    score: Counter[str] = Counter()
    for at, template in Matcher(texts).matches(signatures).items():
        region = begins.get(at)
        is_right = region is not None and _spelt(signatures.row, region, template, files)
        score[template.text] += 1 if is_right else -1
    return tuple([text for text in texts if score[text] > 0])


def _spelt(row: Sequence[Item], region: Region, template: Template, files: Mapping[int, str]) -> bool:
    """Return whether an asm template reproduces the text of an asm region."""
    own = row[region.start : region.end]
    if len(own) != len(template.forms) or not (own[0].leading_trivia or "").endswith(template.trivia[0]):
        return False
    return all(map(_is_spelt, own, template.forms)) and all(
        filled(template.trivia[at - region.start], _context(row, at, files)) == row[at].leading_trivia
        for at in range(region.start + 1, region.end)
    )


def _context(row: Sequence[Item], at: int, files: Mapping[int, str]) -> Context:
    before = row[at - 1]
    return Context(row[at], before, (before.leading_trivia or "") + (before.raw or ""), files)


def _is_spelt(item: Item, form: str) -> bool:
    """Return whether `form`, with the statement's words in place of each `%s`, is the statement's source text."""
    if item.shape is not None:
        return form == item.shape.form
    return form % tuple(cut(item.canonical())[1::2]) == item.raw


def _reads(text: str, signatures: tuple[Signature, ...]) -> bool:
    """Return whether an asm template's text parses without errors to statements with these signatures."""
    template = _read(text)
    return template.sound and template.signatures == signatures


def _erased(
    row: Sequence[Item], region: Region, files: Mapping[int, str], *, broad: bool = False, named: bool = False
) -> Iterator[str]:
    """Yield an asm region's text without names and numbers, from its begin comment to its end comment.

    Nothing is yielded for a region that is too long or has text that cannot be erased, such as a string. If `named`,
    the author's names and source lines are kept. Several texts are yielded if a comment can be written with different
    placeholders.
    """
    own = range(region.start, region.end)
    if len(own) > _LONGEST or any(not _is_erasable(row[at]) for at in own):
        return
    trivia = [_readings(row, at, files) for at in own[1:]]
    closing = row[region.end].leading_trivia or ""
    bodies = [_body(row[at], broad=broad, named=named) for at in own]
    for number in range(max(map(len, trivia), default=1)):
        first = row[region.start].leading_trivia or ""
        chosen = [first[first.rfind(BEGIN) :], *(each[min(number, len(each) - 1)] for each in trivia)]
        text = "".join([part for pair in zip(chosen, bodies, strict=True) for part in pair])
        yield text + closing[: closing.find(FINISH) + len(FINISH)]


def _is_erasable(item: Item) -> bool:
    raw = item.raw or ""
    return '"' not in raw and bool(item.shape or same_tokens(cut(raw), cut(item.canonical())))


def _readings(row: Sequence[Item], at: int, files: Mapping[int, str]) -> list[str]:
    """Return the variants of leading trivia in an asm template, with placeholders where comments repeat context."""
    leading_trivia = row[at].leading_trivia or ""
    if "//" not in leading_trivia:
        return [leading_trivia]
    texts = [
        each for each in abstracted(leading_trivia, _context(row, at, files)) if MARGIN in each and INDENT not in each
    ]
    return [each.replace(MARGIN, " ") for each in texts if repeats(each)] or [leading_trivia]


def _body(item: Item, *, broad: bool, named: bool) -> str:
    form = _form(item) if item.shape is None else item.shape.form
    return form % tuple(_names(item, cut(item.raw or ""), broad=broad, named=named))


def _names(item: Item, parts: Sequence[str], *, broad: bool, named: bool) -> Iterator[str]:
    """Yield a statement's words, with `a` or `0` for names and numbers; if `named`, only for compiler registers."""
    number = opcode_number(item)
    for at, (between, word) in enumerate(zip(parts[::2], parts[1::2], strict=False)):
        if at == number:
            yield _opcode(item, broad=broad)
        elif between.endswith(".") or (named and not (between.endswith("%") and _COMPILERS.fullmatch(word))):
            yield word
        else:
            yield "0" if word[0].isdecimal() else "a"
