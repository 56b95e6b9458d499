"""Findings of the checks: the fault, its source lines, and the change that removes the fault."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.debug_info import position_of
from pyptx_ir.renamed import former_attribute
from pyptx_ir.syntax.source import visible
from pyptx_sim.extension.registry import rules
from pyptx_sim.origins import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from typing import Unpack

    from pyptx_ir.plugins.rows import Frame
    from pyptx_sim.extension.rule import FindingDetails, Rule, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a kernel.

    `message` is one line: the fault, the object at fault and the values found and expected. `line` is the physical PTX
    line (from 1) and `origin` the source lines of the instruction at fault, innermost first: the Python lines that
    emitted it, or the lines and inlined calls of its `.loc`. `label` states what that instruction did: the kind of
    access and its thread, or else the opcode. `other_line`, `other_origin` and `other_label` describe the second
    instruction, if two are involved. `also` are the PTX lines of further instructions
    with the same cause.

    `notes` are facts that explain the fault; `help` is the change that removes it. `count` is the number of
    occurrences, one per lane. `severity`: `error`, `warning` or `note`, that of its rule or lower. If the program was
    linked from several modules, `module` and `other_module` are the indices (from 0) of the modules that contain these
    lines.
    """

    rule: str
    message: str
    line: int | None = None
    origin: tuple[Frame, ...] = ()
    other_line: int | None = None
    other_origin: tuple[Frame, ...] = ()
    help: str | None = None
    count: int = 1
    severity: Severity = "error"
    module: int | None = None
    other_module: int | None = None
    also: tuple[int, ...] = ()
    label: str | None = None
    other_label: str | None = None
    notes: tuple[str, ...] = ()

    if not TYPE_CHECKING:
        __getattr__ = former_attribute

    @property
    def headline(self) -> str:
        """First line of the text: severity, rule and message, as `error[shared-race]: data race on …`."""
        return visible(f"{self.severity}[{self.rule}]: {self.message}")

    @property
    def summary(self) -> str:
        """Headline with the positions of both instructions: the user's source lines, or else the PTX lines."""
        where = [
            _line(self.line, self.module, self.origin),
            _line(self.other_line, self.other_module, self.other_origin),
        ]
        return visible(f"{self.headline} ({' and '.join(filter(None, where))})") if any(where) else self.headline

    def __str__(self) -> str:
        """Return the headline, then one line each for labels, positions, notes and help."""
        lines = [
            self.headline,
            *_positions(self.label, self.line, self.module, self.origin),
            *_positions(self.other_label, self.other_line, self.other_module, self.other_origin),
            *(f"  note: {note}" for note in self.notes),
        ]
        if self.also:
            lines.append(f"  note: also at PTX line{'s' * (len(self.also) > 1)} {', '.join(map(str, self.also))}")
        if self.count > 1:
            lines.append(f"  note: {self.count} occurrences")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(visible(line) for text in lines for line in text.split("\n"))


def _line(line: int | None, module: int | None, origin: tuple[Frame, ...]) -> str:
    if origin:
        return str(position_of(origin))
    return "" if line is None else f"PTX {SourceLocation(line, module)}"


def _positions(label: str | None, line: int | None, module: int | None, origin: tuple[Frame, ...]) -> Iterator[str]:
    """Yield the lines of a finding's text for one instruction: label, position, and the other source lines."""
    ptx = "" if line is None else f"PTX {SourceLocation(line, module)}"
    if label and (ptx or origin):
        yield f"  {label}"
    if not origin:
        yield from [f"    at {ptx}"] if ptx else []
        return
    position = position_of(origin)
    yield f"    at {position.in_function}" + (f" ({ptx})" if ptx else "")
    yield from (f"    {call}" for call in position.stack)


_SEVERITIES: Final = ("error", "warning", "note")
_Key: TypeAlias = "tuple[str, int, int | None] | tuple[str, Hashable]"


@dataclass(slots=True)
class _Found:
    """A finding with the pcs of its two instructions, and the pcs of further instructions with the same cause."""

    finding: Finding
    pc: int
    other_pc: int | None
    also: dict[int, None] = field(default_factory=dict[int, None])


def _united(several: Sequence[_Found], rule: str) -> _Found:
    """Return one finding of `rule` for several ones of the same two instructions: the most severe one of this rule."""
    severity = min((each.finding.severity for each in several), key=_SEVERITIES.index)
    own = [each for each in several if each.finding.rule == rule]
    first = min(own, key=lambda each: _SEVERITIES.index(each.finding.severity))
    parts = dict.fromkeys(each.finding.rule for each in several if each.finding.rule != rule)
    notes = (*(f"{part} of the same accesses, too" for part in parts), *first.finding.notes)
    count = sum(each.finding.count for each in several)
    return replace(first, finding=replace(first.finding, count=count, severity=severity, notes=notes))


@dataclass(slots=True)
class FindingLog:
    """Collector of one run's findings: one finding per rule and cause, by default the pair of instructions.

    `place_of` maps a pc to a line of PTX, `opcode_of` to its opcode, and `origin_of` to the user's source lines,
    innermost first; they are called only when findings are read. Only violations of `rules` are kept.
    """

    place_of: Callable[[int], SourceLocation | None]
    opcode_of: Callable[[int], str]
    origin_of: Callable[[int], tuple[Frame, ...]]
    rules: Mapping[str, Rule]
    _found: dict[_Key, _Found] = field(default_factory=dict[_Key, _Found])
    _follow_ups: set[tuple[int, str]] = field(default_factory=set[tuple[int, str]])

    def report(
        self, rule: str, message: str, pc: int, *, other_pc: int | None = None, **details: Unpack[FindingDetails]
    ) -> None:
        """Record a finding, or add its count to the finding with the same rule and cause.

        Raise LookupError for a rule that no extension defines.
        """
        known_rule = self.rules.get(rule)
        if known_rule is None:
            if rule not in rules():
                raise LookupError(f"no extension of the simulator has a rule {rule!r}")
            return
        sites = (pc,) if other_pc is None else (pc, other_pc)
        if any((each, rule) in self._follow_ups for each in sites):
            return
        self._follow_ups.update(details.get("follow_ups", ()))
        cause, count = details.get("cause"), details.get("count", 1)
        key: _Key = (rule, pc, other_pc) if cause is None else (rule, cause)
        known = self._found.get(key)
        if known is not None:
            known.finding = replace(known.finding, count=known.finding.count + count)
            known.also.update((each, None) for each in sites if each not in {known.pc, known.other_pc})
            return
        finding = Finding(
            rule,
            message,
            help=details.get("help") or known_rule.help,
            count=count,
            severity=details.get("severity") or known_rule.severity,
            label=details.get("label"),
            other_label=details.get("other_label"),
            notes=details.get("notes", ()),
        )
        self._found[key] = _Found(finding, pc, other_pc)
        self.first(finding, pc)

    @property
    def first_error(self) -> Finding | None:
        """The first finding of severity `error` so far; None without one."""
        found = (each.finding for each in self._found.values())
        return next((each for each in found if each.severity == "error"), None)

    def pairs(self) -> tuple[tuple[str, int, int], ...]:
        """Return the rule and both instructions' pcs of each finding that involves two instructions."""
        keys = ((found.finding.rule, pc, found.other_pc) for (_, pc, *_), found in self._by_pair())
        return tuple((rule, pc, other) for rule, pc, other in keys if other is not None)

    def _by_pair(self) -> Iterator[tuple[tuple[str, int, int | None], _Found]]:
        for key, found in self._found.items():
            if len(key) == 3:
                yield key, found

    def downgrade(self, pair: tuple[str, int, int], why: str, help: str | None = None) -> None:
        """Downgrade the finding of `pair` (rule, both pcs) to a note, and add note `why`; `help` replaces its help."""
        finding = self._found[pair].finding
        self._found[pair].finding = replace(
            finding, notes=(*finding.notes, why), help=help or finding.help, severity="note"
        )

    def first(self, finding: Finding, pc: int) -> None:
        """Receive each finding that is the first of its rule and cause; a hook for subclasses."""

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings so far, in order of first occurrence, with PTX lines and source lines."""
        return tuple(map(self._located, self._merged()))

    def _merged(self) -> Iterator[_Found]:
        """Yield the findings; those of the same two instructions under one rule, or under a wider one, are merged.

        Which access of a data race is the second one depends on the schedule. A race between warps includes the race of
        the same accesses within a warp.
        """
        pairs = {(rule, frozenset((pc, found.other_pc))) for (rule, pc, _), found in self._by_pair()}
        alike: dict[tuple[str, Hashable], list[_Found]] = {}
        for key, found in self._found.items():
            group: tuple[str, Hashable] = key[0], key
            if len(key) == 3 and found.other_pc is not None:
                pair = frozenset((found.pc, found.other_pc))
                wider = (each for each in self.rules[key[0]].part_of if (each, pair) in pairs)
                group = next(wider, key[0]), pair
            alike.setdefault(group, []).append(found)
        return (several[0] if len(several) == 1 else _united(several, rule) for (rule, _), several in alike.items())

    def _located(self, found: _Found) -> Finding:
        place = self.place_of(found.pc)
        other = None if found.other_pc is None else self.place_of(found.other_pc)
        further = {self.place_of(pc): None for pc in found.also}
        also = tuple(sorted({each.line for each in further if each is not None and each not in {place, other}}))
        label = found.finding.label or self.opcode_of(found.pc)
        finding = replace(found.finding, also=also, label=label)
        if place is not None:
            finding = replace(finding, line=place.line, module=place.module, origin=self.origin_of(found.pc))
        if other is None or found.other_pc is None:
            return finding
        return replace(
            finding,
            other_line=other.line,
            other_module=other.module,
            other_origin=self.origin_of(found.other_pc),
            other_label=finding.other_label or self.opcode_of(found.other_pc),
        )
