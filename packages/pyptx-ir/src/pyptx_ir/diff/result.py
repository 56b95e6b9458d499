"""What a comparison says: immutable values, without trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

ChangeKind: TypeAlias = Literal["same", "removed", "added", "changed"]

SCHEMA = 1  # of `as_json`; a reader may rely on what it knows of one number


@dataclass(frozen=True, slots=True)
class Place:
    """A statement in one of the two texts: its line, which counts from 1, and its canonical text.

    `shown` is the text that reports show: that of a statement of the first module has the names of the second, as far
    as they have counterparts there.
    """

    line: int
    text: str
    shown: str

    def as_json(self) -> dict[str, object]:
        """Return `line` and `text`, and `shown` where that is another text."""
        names = {"shown": self.shown} if self.shown != self.text else {}
        return {"line": self.line, "text": self.text, **names}


@dataclass(frozen=True, slots=True)
class Change:
    """One statement on both sides (`before` is None for an added one, `after` for a removed one).

    `reasons` says of a changed one in which words, operands or names it has changed. What is the same stands in a hunk
    as context.
    """

    kind: ChangeKind
    before: Place | None
    after: Place | None
    reasons: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return the fields in a fixed order."""
        return {
            "kind": self.kind,
            "before": None if self.before is None else self.before.as_json(),
            "after": None if self.after is None else self.after.as_json(),
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class Part:
    """A function (`kind` is `entry` or `func`) that differs, or the `module` around the functions.

    `before` and `after` are its names; None where the function is only in the other module.
    """

    kind: str
    before: str | None
    after: str | None
    hunks: tuple[tuple[Change, ...], ...]

    def changes(self) -> Iterator[Change]:
        """Yield what is not the same."""
        return (change for hunk in self.hunks for change in hunk if change.kind != "same")

    def as_json(self) -> dict[str, object]:
        """Return the changes, without context."""
        changes = [change.as_json() for change in self.changes()]
        return {"kind": self.kind, "before": self.before, "after": self.after, "changes": changes}


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that is another one in the second module. Renamings are no differences.

    `kind` is `register label parameter variable function`; `function` names the function of the second module in which
    it stands, and is empty for names of the module.
    """

    kind: str
    before: str
    after: str
    function: str = ""

    def as_json(self) -> dict[str, object]:
        """Return the fields in a fixed order."""
        return {"kind": self.kind, "before": self.before, "after": self.after, "function": self.function}


@dataclass(frozen=True, slots=True)
class Comparison:
    """How one module differs from another; `same` if it is that module, up to renaming and formatting."""

    parts: tuple[Part, ...]
    renamings: tuple[Renaming, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.parts

    def changes(self) -> Iterator[Change]:
        """Yield everything that differs."""
        return (change for part in self.parts for change in part.changes())

    def as_json(self, *, renamings: bool = False) -> dict[str, object]:
        """Return what `pyptx diff --json` prints."""
        listed = {"renamings": [one.as_json() for one in self.renamings]} if renamings else {}
        return {"schema": SCHEMA, "same": self.same, "parts": [part.as_json() for part in self.parts], **listed}
