"""The section of docs/checking.md about code that ptxas accepts and `pyptx check` refuses, from the reviewed lists.

python -m tests.oracle.exceptions        write the section anew
"""

from __future__ import annotations

from pathlib import Path

from . import known_declarations
from .report import chapter_reasons

PAGE = Path(__file__).parents[2] / "docs" / "checking.md"
BEGIN, END = "<!-- exceptions: python -m tests.oracle.exceptions -->", "<!-- end of exceptions -->"


def section() -> str:
    """Return the lines between the two marks: a list of reasons for each chapter of the instruction table."""
    chapters = {**chapter_reasons(), "Declarations and directives": tuple(known_declarations.STRICTER.values())}
    parts = [BEGIN]
    for title, reasons in chapters.items():
        items = "".join(f"- {reason}\n" for reason in dict.fromkeys(reasons))
        parts.append(f"**{title.rstrip('.')}**\n\n{items}")
    return "\n\n".join(part.rstrip("\n") for part in (*parts, END)) + "\n"


def written(page: str) -> str:
    """Return the page with the section as it should be."""
    before, _, rest = page.partition(BEGIN)
    return before + section() + rest.partition(END)[2].removeprefix("\n")


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
