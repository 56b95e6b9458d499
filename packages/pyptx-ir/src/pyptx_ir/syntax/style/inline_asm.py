r"""Regions of inline assembly: one template for each asm string, as PTX whose names and numbers are erased.

What stands between the marks of a region is spelt as its author spelt it, whatever the compiler does elsewhere. A
template is the text of a region, `"// begin inline asm\n\tadd.s32 %a,%a,0;\n\t// end inline asm"`. Statements with the
same opcodes and the same marks between their words are taken for that region wherever they stand. An opcode of one
word, `mbarrier`, stands for all that begin with it: what was written once is often written once more with a modifier.

Where a region has no template, its first mark is in a lead of the tree's own. What follows up to the last mark goes by
rules of its own, whose names begin with `asm`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax.nodes import Instruction, Loc
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.style.items import START, Item, items, opcode_number
from pyptx_ir.syntax.style.tokens import cut, same_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MARK = "inline asm"
BEGIN, FINISH = f"// begin {MARK}", f"// end {MARK}"
BEFORE = Item(START, START, None, "", "")
ASM = Item("asm", "asm", None, None, None)
_LONGEST = 64  # items; a longer region has no template
_USES = 2  # a template stands for so many regions at least,
_LARGE = 5  # unless it has so many items: then its author's habits are many, though they are seen once

# What a template knows a statement by: its kind, its opcode, and what stands between the words of its canonical text.
Signature: TypeAlias = "tuple[str, str, tuple[str, ...]]"


@dataclass(frozen=True, slots=True)
class Template:
    """The items of a region, a lead and a spelling with `%s` for each word, and the trivia behind the last.

    `first` is the name of the first item; a text that is not `sound` has errors.
    """

    text: str
    first: str
    sound: bool
    signatures: tuple[Signature, ...]
    leads: tuple[str, ...]
    forms: tuple[str, ...]
    closing: str


@dataclass(frozen=True, slots=True)
class Region:
    """Items `start` to `end` (exclusive) of a row, which stand between the marks of inline assembly."""

    start: int
    end: int


def signature(item: Item, *, broad: bool = False) -> Signature:
    """Return what a template knows an item by; with `broad`, what one knows it by that names no modifiers."""
    marks = tuple(cut(item.canonical())[::2]) if item.shape is None else item.shape.canonical
    return item.kind, _opcode(item, broad=broad), marks


def _opcode(item: Item, *, broad: bool) -> str:
    node = item.node
    if not isinstance(node, Instruction):
        return ""
    return node.opcode[0] if broad else ".".join(node.opcode)


class Matcher:
    """Finds the regions of templates in rows of items."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._first: defaultdict[Signature, list[Template]] = defaultdict(list)
        self._names: set[str] = set()
        for text in texts:
            template = _read(text)
            self._first[template.signatures[0]].append(template)
            self._names.add(template.first)

    def matches(self, row: Sequence[Item]) -> dict[int, Template]:
        """Return the templates by the items that their regions begin at; of several, the longest."""
        found: dict[int, Template] = {}
        known: dict[int, tuple[Signature, Signature]] = {}
        end = 0
        for at, item in enumerate(row):
            if item.name in self._names and at >= end:
                template = self._longest(row, at, known)
                if template is not None:
                    found[at], end = template, at + len(template.signatures)
        return found

    def _longest(self, row: Sequence[Item], at: int, known: dict[int, tuple[Signature, Signature]]) -> Template | None:
        candidates = [one for first in set(_known(row, at, known)) for one in self._first.get(first, ())]
        matching = [one for one in candidates if _matches(one, row, at, known)]
        return max(matching, key=_precision, default=None)


def _precision(template: Template) -> tuple[int, int]:
    """Return the number of statements of a template, and how much their opcodes say."""
    return len(template.signatures), sum(len(opcode) for _, opcode, _ in template.signatures)


def _known(row: Sequence[Item], at: int, known: dict[int, tuple[Signature, Signature]]) -> tuple[Signature, Signature]:
    """Return both signatures of an item, the exact one and the broad one."""
    if at not in known:
        exact = signature(row[at])
        known[at] = exact, (exact[0], _opcode(row[at], broad=True), exact[2])
    return known[at]


def _matches(template: Template, row: Sequence[Item], at: int, known: dict[int, tuple[Signature, Signature]]) -> bool:
    if at + len(template.signatures) > len(row):
        return False
    return all(
        row[number].kind == expected[0] and expected in _known(row, number, known)
        for number, expected in enumerate(template.signatures, at)
    )


@lru_cache(maxsize=1 << 10)
def _read(text: str) -> Template:
    """Return a template; learning a style and writing with it ask for each several times."""
    module, errors = parse_recovering(text)
    *row, end = items(module)
    forms = tuple([_form(item) for item in row])
    leads = tuple([item.lead or "" for item in row])
    return Template(
        text, row[0].name if row else "", not errors, tuple(map(signature, row)), leads, forms, end.lead or ""
    )


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


# --- learning -------------------------------------------------------------------------------------------


def still_inside(lead: str, *, inside: bool) -> bool:
    """Tell whether what stands behind a lead is in a region, by the marks in it, or by what was before it."""
    begin, finish = lead.rfind(BEGIN), lead.rfind(FINISH)
    return begin > finish if begin != finish else inside


def regions(row: Sequence[Item]) -> Iterator[Region]:
    """Yield the regions of a row that was parsed."""
    start = None
    for at, item in enumerate(row):
        lead = item.lead or ""
        if MARK not in lead:
            continue
        if start is not None and FINISH in lead:
            yield Region(start, at)
            start = None
        if lead.rfind(BEGIN) > lead.rfind(FINISH):
            start = at


def templates(row: Sequence[Item]) -> tuple[str, ...]:
    """Return the templates that are right for more of the row's regions than they are wrong."""
    found = list(regions(row))
    exact = _usual(row, found, broad=False)
    rest = [region for region in found if _signatures(row, region) not in exact]
    broad = _usual(row, rest, broad=True)
    return _right([*exact.values(), *broad.values()], row, {region.start: region for region in found})


def _signatures(row: Sequence[Item], region: Region, *, broad: bool = False) -> tuple[Signature, ...]:
    return tuple([signature(item, broad=broad) for item in row[region.start : region.end]])


def _usual(row: Sequence[Item], found: Iterable[Region], *, broad: bool) -> dict[tuple[Signature, ...], str]:
    """Return the most frequent spelling of the regions with the same signatures, if it is used often enough."""
    spelt: defaultdict[tuple[Signature, ...], Counter[str]] = defaultdict(Counter)
    for region in found:
        text = _erased(row, region, broad=broad)
        if text is not None:
            spelt[_signatures(row, region, broad=broad)][text] += 1
    usual = {signatures: texts.most_common(1)[0] for signatures, texts in spelt.items()}
    return {
        signatures: text
        for signatures, (text, times) in usual.items()
        if _is_worth_it(signatures, times, spelt[signatures].total()) and _reads(text, signatures)
    }


def _is_worth_it(signatures: tuple[Signature, ...], times: int, total: int) -> bool:
    """Tell whether a text gets a template that was seen so many times, of all with its signatures."""
    if times < total and any(kind == Loc.__name__ for kind, *_ in signatures):  # with another comment each time
        return False
    return times >= _USES or len(signatures) >= _LARGE


def _right(texts: Sequence[str], row: Sequence[Item], begins: Mapping[int, Region]) -> tuple[str, ...]:
    """Drop the templates that take more for theirs than is."""
    score: Counter[str] = Counter()
    for at, template in Matcher(texts).matches(row).items():
        region = begins.get(at)
        score[template.text] += 1 if region is not None and _spelt(row, region, template) else -1
    return tuple([text for text in texts if score[text] > 0])


def _spelt(row: Sequence[Item], region: Region, template: Template) -> bool:
    """Tell whether a template gives a region back."""
    own = row[region.start : region.end]
    return len(own) == len(template.forms) and all(
        _is_spelt(item, form) and (item.lead or "").endswith(lead)
        for item, form, lead in zip(own, template.forms, template.leads, strict=True)
    )


def _is_spelt(item: Item, form: str) -> bool:
    """Tell whether an item's own spelling has a form."""
    if item.shape is not None:
        return form == item.shape.form
    return form % tuple(cut(item.canonical())[1::2]) == item.raw


def _reads(text: str, signatures: tuple[Signature, ...]) -> bool:
    """Tell whether a template means what it was made from."""
    template = _read(text)
    return template.sound and template.signatures == signatures


def _erased(row: Sequence[Item], region: Region, *, broad: bool) -> str | None:
    """Return a region's text without names and numbers, from its first mark to its last; None if it has no template."""
    if region.end - region.start > _LONGEST:
        return None
    out: list[str] = []
    for at, item in enumerate(row[region.start : region.end], region.start):
        raw = cut(item.raw or "")
        if '"' in (item.raw or "") or not (item.shape or same_tokens(raw, cut(item.canonical()))):
            return None
        lead = item.lead or ""
        out.append(lead[lead.rfind(BEGIN) :] if at == region.start else lead)
        form = _form(item) if item.shape is None else item.shape.form
        out.append(form % tuple(_names(item, raw, broad=broad)))
    closing = row[region.end].lead or ""
    out.append(closing[: closing.find(FINISH) + len(FINISH)])
    return "".join(out)


def _names(item: Item, parts: Sequence[str], *, broad: bool) -> Iterator[str]:
    """Yield the words of a spelling, erased but for opcodes and keywords."""
    number = opcode_number(item)
    for at, (between, word) in enumerate(zip(parts[::2], parts[1::2], strict=False)):
        if at == number:
            yield _opcode(item, broad=broad)
        elif between.endswith("."):
            yield word
        else:
            yield "0" if word[0].isdecimal() else "a"
