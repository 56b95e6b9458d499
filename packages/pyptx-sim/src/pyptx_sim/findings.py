"""Findings of the checks: values with a rule, both lines and a hint."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from pyptx_sim.extension import rules
from pyptx_sim.origins import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from pyptx_ir.plugins.rows import Frame
    from pyptx_sim.extension import Rule, Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a kernel.

    `line` is the physical PTX line (from 1) and `origin` the user's Python frames of the instruction at fault,
    innermost first; `other_line` and `other_origin` are those of the second instruction, if two are involved. `also`
    are the PTX lines of further instructions with the same cause, and `count` is the number of lanes. `severity`:
    `error`, `warning` or `note`, that of its rule or lower. If the program was linked from several modules, `module`
    and `other_module` are the indices (from 0) of the modules that contain these lines.
    """

    rule: str
    message: str
    line: int | None = None
    origin: tuple[Frame, ...] = ()
    other_line: int | None = None
    other_origin: tuple[Frame, ...] = ()
    hint: str | None = None
    count: int = 1
    severity: Severity = "error"
    module: int | None = None
    other_module: int | None = None
    also: tuple[int, ...] = ()

    @property
    def summary(self) -> str:
        """First line of the message, with the user's (or else the PTX) lines of both instructions."""
        first = heading(self.rule, self.severity, self.message.partition("\n")[0])
        where = [
            _line(self.line, self.module, self.origin),
            _line(self.other_line, self.other_module, self.other_origin),
        ]
        return f"{first} ({' and '.join(filter(None, where))})" if any(where) else first

    def __str__(self) -> str:
        """Return the finding with its positions and hint, one per line; a severity other than error is named."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        parts = [f"{heading(self.rule, self.severity, self.message)}{times}"]
        parts += _positions("at", self.line, self.module, self.origin)
        parts += _positions("and", self.other_line, self.other_module, self.other_origin)
        if self.also:
            parts.append(f"  also at PTX line{'s' * (len(self.also) > 1)} {', '.join(map(str, self.also))}")
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


def heading(rule: str, severity: Severity, message: str) -> str:
    """Return the first line of a finding: its rule, its severity unless that is error, and the message."""
    return f"{rule}: {message}" if severity == "error" else f"{rule} ({severity}): {message}"


def _line(line: int | None, module: int | None, origin: tuple[Frame, ...]) -> str:
    if origin:
        return f"{origin[0].file}:{origin[0].line}"
    return "" if line is None else f"PTX {Place(line, module)}"


def _positions(word: str, line: int | None, module: int | None, origin: tuple[Frame, ...]) -> list[str]:
    parts = [f"  {word} PTX {Place(line, module)}"] if line is not None else []
    return parts + [f"  {word} {frame.file}:{frame.line}: in {frame.function}" for frame in origin]


_Key: TypeAlias = "tuple[str, int, int | None] | tuple[str, Hashable]"


@dataclass(slots=True)
class _Found:
    """A finding with its position, and further instructions of the same cause."""

    finding: Finding
    pc: int
    other_pc: int | None
    also: dict[int, None] = field(default_factory=dict[int, None])


@dataclass(slots=True)
class FindingLog:
    """Collector of one run's findings, one per rule and cause; the default cause is the pair of instructions.

    `place_of` maps a pc to a line of PTX; it is called only when findings are read. Only violations of `rules` are
    kept.
    """

    place_of: Callable[[int], Place | None]
    origins: Mapping[int, tuple[Frame, ...]]
    rules: Mapping[str, Rule]
    _found: dict[_Key, _Found] = field(default_factory=dict[_Key, _Found])

    def report(
        self,
        rule: str,
        message: str,
        pc: int,
        *,
        other_pc: int | None = None,
        hint: str | None = None,
        count: int = 1,
        cause: Hashable = None,
        severity: Severity | None = None,
    ) -> None:
        """Record a finding, or add `count` to the finding with the same rule and cause.

        The default cause is the pair of instructions. `hint` and `severity` default to the rule's. Raise LookupError
        for a rule that no extension defines.
        """
        known_rule = self.rules.get(rule)
        if known_rule is None:
            if rule not in rules():
                raise LookupError(f"no extension of the simulator has a rule {rule!r}")
            return
        key: _Key = (rule, pc, other_pc) if cause is None else (rule, cause)
        known = self._found.get(key)
        if known is not None:
            known.finding = replace(known.finding, count=known.finding.count + count)
            sites = [pc] if other_pc is None else [pc, other_pc]
            known.also.update((each, None) for each in sites if each not in {known.pc, known.other_pc})
            return
        severity, hint = severity or known_rule.severity, hint or known_rule.hint
        finding = Finding(rule, message, hint=hint, count=count, severity=severity)
        self._found[key] = _Found(finding, pc, other_pc)
        self.first(finding, pc)

    def pairs(self) -> tuple[tuple[str, int, int], ...]:
        """Return the rule and the two pcs of each finding about a pair of instructions."""
        keys = ((found.finding.rule, pc, found.other_pc) for (_, pc, *_), found in self._by_pair())
        return tuple((rule, pc, other) for rule, pc, other in keys if other is not None)

    def _by_pair(self) -> Iterator[tuple[tuple[str, int, int | None], _Found]]:
        for key, found in self._found.items():
            if len(key) == 3:
                yield key, found

    def downgrade(self, pair: tuple[str, int, int], why: str, hint: str | None = None) -> None:
        """Make a finding about a pair of instructions a note and add the reason; a `hint` replaces the finding's."""
        found = self._found[pair]
        message = f"{found.finding.message}; {why}"
        found.finding = replace(found.finding, message=message, hint=hint or found.finding.hint, severity="note")

    def first(self, finding: Finding, pc: int) -> None:
        """Observe the first finding of its rule and cause."""

    def origin_of(self, pc: int) -> tuple[Frame, ...]:
        """Return the user's frames of an instruction, innermost first."""
        return self._origin(self.place_of(pc))

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings so far, in order of first occurrence, with lines and origins."""
        return tuple(map(self._located, self._found.values()))

    def _located(self, found: _Found) -> Finding:
        place = self.place_of(found.pc)
        other = None if found.other_pc is None else self.place_of(found.other_pc)
        further = {self.place_of(pc): None for pc in found.also}
        also = tuple(sorted({each.line for each in further if each is not None and each not in {place, other}}))
        finding = replace(found.finding, also=also)
        if place is not None:
            finding = replace(finding, line=place.line, module=place.module, origin=self._origin(place))
        if other is None:
            return finding
        return replace(finding, other_line=other.line, other_module=other.module, other_origin=self._origin(other))

    def _origin(self, place: Place | None) -> tuple[Frame, ...]:
        return () if place is None else self.origins.get(place.line, ())
