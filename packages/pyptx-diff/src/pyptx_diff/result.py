"""Results of a comparison: immutable values without trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

ChangeKind: TypeAlias = Literal["same", "removed", "added", "changed"]

SCHEMA = 1  # version of the JSON format of `as_json`; the fields of one version keep their meaning


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A statement in one of the two texts: its line, counted from 1, and its canonical text.

    `shown` is the text in reports. For a statement of the first module it has the names of the second, where
    counterparts exist.
    """

    line: int
    text: str
    shown: str

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of a statement: `line`, `text`, and `shown` if it differs from `text`."""
        names = {"shown": self.shown} if self.shown != self.text else {}
        return {"line": self.line, "text": self.text, **names}


@dataclass(frozen=True, slots=True)
class Change:
    """One statement on both sides (`before` is None if added, `after` if removed).

    `reasons` describes which modifiers, operands or names of a changed statement differ. Unchanged statements are
    context in a hunk.
    """

    kind: ChangeKind
    before: StatementLine | None
    after: StatementLine | None
    reasons: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the change as a JSON object."""
        return {
            "kind": self.kind,
            "before": None if self.before is None else self.before.as_json(),
            "after": None if self.after is None else self.after.as_json(),
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class FunctionDifference:
    """Changes in one function (`kind` is `entry` or `func`), or in the statements outside functions (`module`).

    `before` and `after` are the function's names in the two modules; None if that module lacks the function.
    """

    kind: str
    before: str | None
    after: str | None
    hunks: tuple[tuple[Change, ...], ...]

    def changes(self) -> Iterator[Change]:
        """Yield the changed statements, without the context of the hunks."""
        return (change for hunk in self.hunks for change in hunk if change.kind != "same")

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the function's or module's changes, without unchanged statements."""
        changes = [change.as_json() for change in self.changes()]
        return {"kind": self.kind, "before": self.before, "after": self.after, "changes": changes}


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that differs in the second module. Renamings do not count as differences.

    `kind` is `register`, `label`, `parameter`, `variable` or `function`. `function` names the function of the second
    module that declares it; it is empty for names of the module.
    """

    kind: str
    before: str
    after: str
    function: str = ""

    def as_json(self) -> dict[str, object]:
        """Return the renaming as a JSON object."""
        return {"kind": self.kind, "before": self.before, "after": self.after, "function": self.function}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Differences between two modules; `same` if they are equal up to renaming and formatting."""

    parts: tuple[FunctionDifference, ...]
    renamings: tuple[Renaming, ...]

    @property
    def same(self) -> bool:
        """Whether the modules are equal up to renaming and formatting."""
        return not self.parts

    def changes(self) -> Iterator[Change]:
        """Yield the changed statements of all functions, and those outside functions."""
        return (change for part in self.parts for change in part.changes())

    def as_json(self, *, renamings: bool = False) -> dict[str, object]:
        """Return the JSON object that `pyptx diff --json` prints."""
        listed = {"renamings": [one.as_json() for one in self.renamings]} if renamings else {}
        return {"schema": SCHEMA, "same": self.same, "parts": [part.as_json() for part in self.parts], **listed}
