r"""Regions of inline assembly: one template for each asm string, as PTX whose names and numbers are erased.

What stands between the marks of a region is spelt as its author spelt it, whatever the compiler does elsewhere. A
template is the text of a region, `"// begin inline asm\n\tadd.s32 %a,%a,0;\n\t// end inline asm"`. Statements with the
same opcodes and the same marks between their words are taken for that region wherever they stand.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.style.items import START, Item, items
from pyptx_ir.syntax.style.tokens import cut, same_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

BEGIN, FINISH = "// begin inline asm", "// end inline asm"
BEFORE = Item(START, START, None, "", "")
ASM = Item("asm", "asm", None, None, None)
_LONGEST = 64  # items; a longer region has no template
_USES = 2  # a template stands for so many regions at least

# What a template knows a statement by: its kind, its opcode, and what stands between the words of its canonical text.
Signature: TypeAlias = "tuple[str, tuple[str, ...], tuple[str, ...]]"


@dataclass(frozen=True, slots=True)
class Template:
    """The items of a region, a lead and a spelling with `%s` for each word, and the trivia behind the last."""

    signatures: tuple[Signature, ...]
    leads: tuple[str, ...]
    forms: tuple[str, ...]
    closing: str


@dataclass(frozen=True, slots=True)
class Region:
    """Items `start` to `end` (exclusive) of a row, which stand between the marks of inline assembly."""

    start: int
    end: int


def signature(item: Item) -> Signature:
    """Return what a template knows an item by."""
    node = item.node
    opcode = node.opcode if isinstance(node, Instruction) else ()
    return item.kind, opcode, tuple(cut(item.canonical())[::2])


class Matcher:
    """Finds the regions of templates in rows of items."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._first: defaultdict[str, list[Template]] = defaultdict(list)
        for text in texts:
            template, name = _read(text)
            self._first[name].append(template)
        for templates in self._first.values():
            templates.sort(key=lambda one: -len(one.signatures))

    def matches(self, row: Sequence[Item]) -> dict[int, Template]:
        """Return the templates by the items that their regions begin at; of several, the longest."""
        found: dict[int, Template] = {}
        if not self._first:
            return found
        known: dict[int, Signature] = {}
        end = 0
        for at, item in enumerate(row):
            if at < end or item.name not in self._first:
                continue
            for template in self._first[item.name]:
                if _matches(template, row, at, known):
                    found[at], end = template, at + len(template.signatures)
                    break
        return found


def _matches(template: Template, row: Sequence[Item], at: int, known: dict[int, Signature]) -> bool:
    for number, expected in enumerate(template.signatures, at):
        if number >= len(row) or row[number].kind != expected[0]:
            return False
        if number not in known:
            known[number] = signature(row[number])
        if known[number] != expected:
            return False
    return True


def _read(text: str) -> tuple[Template, str]:
    """Return a template and the name of its first item."""
    module, _ = parse_recovering(text)
    *row, end = items(module)
    forms = tuple([_form(item) for item in row])
    leads = tuple([item.lead or "" for item in row])
    return Template(tuple(map(signature, row)), leads, forms, end.lead or ""), row[0].name


def _form(item: Item) -> str:
    return "%s".join([text.replace("%", "%%") for text in cut(item.raw or "")[::2]])


@dataclass(slots=True)
class Part:
    """An item in its place: what precedes it, what it stands for, and what a template says about it.

    A rule of the style gives the lead between `before` and `stands_for`; `closing` and `opening` go around it. Inside
    of a region, `inner` is the lead itself, and `form` the spelling.
    """

    item: Item
    before: Item
    stands_for: Item
    closing: str = ""
    opening: str = ""
    inner: str | None = None
    form: str | None = None


def laid(row: Sequence[Item], templates: Mapping[int, Template]) -> dict[int, Part]:
    """Return the items of regions, and those behind regions, by their number in the row."""
    parts: dict[int, Part] = {}
    for at, template in templates.items():
        behind = parts.get(at)
        before = row[at - 1] if at else BEFORE
        opening, *leads = template.leads
        closing = "" if behind is None else behind.closing
        parts[at] = Part(row[at], ASM if behind else before, ASM, closing, opening, form=template.forms[0])
        end = at + len(template.forms)
        for number, lead, form in zip(range(at + 1, end), leads, template.forms[1:], strict=True):
            parts[number] = Part(row[number], row[number - 1], row[number], inner=lead, form=form)
        if end < len(row):
            parts[end] = Part(row[end], ASM, row[end], template.closing)
    return parts


def placed(row: Sequence[Item], parts: Mapping[int, Part]) -> Iterator[Part]:
    """Yield each item of a row as a part."""
    before = BEFORE
    for at, item in enumerate(row):
        yield parts.get(at) or Part(item, before, item)
        before = item


# --- learning -------------------------------------------------------------------------------------------


def regions(row: Sequence[Item]) -> Iterator[Region]:
    """Yield the regions of a row that was parsed."""
    start = None
    for at, item in enumerate(row):
        lead = item.lead or ""
        if start is not None and FINISH in lead:
            yield Region(start, at)
            start = None
        if lead.rfind(BEGIN) > lead.rfind(FINISH):
            start = at


def templates(row: Sequence[Item]) -> tuple[str, ...]:
    """Return the templates that are right for more of the row's regions than they are wrong."""
    spelt: defaultdict[tuple[Signature, ...], Counter[str]] = defaultdict(Counter)
    begins: dict[int, str] = {}
    for region in regions(row):
        text = _erased(row, region)
        if text is not None:
            spelt[tuple(map(signature, row[region.start : region.end]))][text] += 1
            begins[region.start] = text
    usual = {signatures: texts.most_common(1)[0] for signatures, texts in spelt.items()}
    chosen = [text for signatures, (text, times) in usual.items() if times >= _USES and _reads(text, signatures)]
    return _right(chosen, row, begins)


def _right(texts: Sequence[str], row: Sequence[Item], begins: dict[int, str]) -> tuple[str, ...]:
    """Drop the templates that take more for theirs than is."""
    score: Counter[str] = Counter()
    read = {_read(text)[0]: text for text in texts}
    for at, template in Matcher(texts).matches(row).items():
        text = read[template]
        score[text] += 1 if begins.get(at) == text else -1
    return tuple([text for text in texts if score[text] > 0])


def _reads(text: str, signatures: tuple[Signature, ...]) -> bool:
    """Tell whether a template means what it was made from."""
    module, errors = parse_recovering(text)
    return not errors and tuple(map(signature, items(module)))[:-1] == signatures


def _erased(row: Sequence[Item], region: Region) -> str | None:
    """Return a region's text without names and numbers, from its first mark to its last; None if it has no template."""
    if region.end - region.start > _LONGEST:
        return None
    out: list[str] = []
    for at, item in enumerate(row[region.start : region.end], region.start):
        raw, canonical = cut(item.raw or ""), cut(item.canonical())
        if not same_tokens(raw, canonical) or '"' in (item.raw or ""):
            return None
        lead = item.lead or ""
        out.append(lead[lead.rfind(BEGIN) :] if at == region.start else lead)
        out.append(_form(item) % tuple(_names(item, raw)))
    closing = row[region.end].lead or ""
    out.append(closing[: closing.find(FINISH) + len(FINISH)])
    return "".join(out)


def _names(item: Item, parts: Sequence[str]) -> Iterator[str]:
    """Yield the words of a spelling, erased but for opcodes and keywords."""
    node = item.node
    opcode = ".".join(node.opcode) if isinstance(node, Instruction) else None
    for between, word in zip(parts[::2], parts[1::2], strict=False):
        if between.endswith(".") or word == opcode:
            yield word
        else:
            yield "0" if word[0].isdecimal() else "a"
