"""Lists in docs/ptxas-differences.md of differences between ptxas and `pyptx check`, from the reviewed lists.

python -m tests.oracle.exceptions        rewrite the lists
"""

from __future__ import annotations

from pathlib import Path

from . import known_declarations, known_generated, known_mutants
from .report import chapter_reasons

PAGE = Path(__file__).parents[2] / "docs" / "ptxas-differences.md"
BEGIN, END = "<!-- exceptions: python -m tests.oracle.exceptions -->", "<!-- end of exceptions -->"


ACCEPTED = (
    "## Code that `pyptx check` accepts and ptxas refuses",
    "`pyptx check` does not check these properties, or ptxas fails on code that the manual allows.",
)


def section() -> str:
    """Return the lines between the two markers: both lists of reasons, by chapter of the instruction table."""
    parts = (BEGIN, *_reasons("STRICTER"), *ACCEPTED, *_reasons("LAXER"), END)
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _reasons(name: str) -> list[str]:
    missed = known_mutants.STRICTER if name == "STRICTER" else known_mutants.MISSED
    chapters = {
        **chapter_reasons(name),
        "Declarations and directives": tuple(getattr(known_declarations, name).values()),
        "Whole modules, and calls": (*getattr(known_generated, name).values(), *missed.values()),
    }
    return [
        f"**{title.rstrip('.')}**\n\n" + "".join(f"- {reason}\n" for reason in dict.fromkeys(reasons))
        for title, reasons in chapters.items()
        if reasons
    ]


def written(page: str) -> str:
    """Return the page with up-to-date lists between its two markers."""
    before, _, rest = page.partition(BEGIN)
    return before + section() + rest.partition(END)[2].removeprefix("\n")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
