"""Replace names that have changed, as `renamed.tsv` lists them, in the text files below some paths.

    python -m tools.rename PATH …

Kinds of names: a `rule` or a `page` is replaced where it is a whole word, hyphens included; a `name` where it is a
whole identifier; a `keyword` where `=` follows, an `attribute` after a dot. Other kinds are internal names, for
tests; they are not replaced. A second run changes nothing.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLE: Final = Path(__file__).with_name("renamed.tsv")
_SHAPES: Final = {
    "rule": r"(?<![\w-]){}(?![\w-])",
    "page": r"(?<![\w-]){}(?![\w-])",
    "name": r"(?<!\w){}(?!\w)",
    "keyword": r"(?<![\w.]){}(?=\s?=(?!=))",
    "attribute": r"(?<=\w\.){}(?!\w)",
}
_ENDINGS: Final = {".py", ".pyi", ".md", ".toml", ".tsv", ".txt", ".json", ".ipynb", ".sh", ".yml", ".html"}


def renamed(text: str, names: Sequence[tuple[str, str, str]]) -> str:
    """Return a text with the new names; `names` are rows of old name, new name and kind."""
    for old, new, kind in (row for row in names if row[2] in _SHAPES):
        text = re.sub(_SHAPES[kind].format(re.escape(old)), new, text)
    return text


def table() -> list[tuple[str, str, str]]:
    """Return the rows of `renamed.tsv`."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [(row["old"], row["new"], row["kind"]) for row in csv.DictReader(file, delimiter="\t")]


def text_files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the text files below some paths, without hidden folders and `renamed.tsv` itself."""
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts[:-1])
            if file.is_file() and file.suffix in _ENDINGS and not hidden and file.resolve() != TABLE:
                yield file


def main(arguments: Sequence[str]) -> int:
    """Rewrite the files with the new names; print the path of each changed file."""
    names = table()
    for file in text_files([Path(each) for each in arguments]):
        before = file.read_text(encoding="utf-8")
        now = renamed(before, names)
        if now != before:
            file.write_text(now, encoding="utf-8")
            sys.stdout.write(f"{file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
