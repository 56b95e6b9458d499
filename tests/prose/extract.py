"""Every piece of prose of the repository: docstrings, comments, messages, and paragraphs of Markdown pages."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
QUOTED = re.compile(r"``.+?``|`[^`]*`")
TARGET = re.compile(r"\]\([^()\s]*\)")  # target of a Markdown link, which is not prose
_CHAPTERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_DIRECTIVE = re.compile(r"#\s*(noqa|type:|pragma|pyright|mypy|fmt|!)")
# A string, which may contain `#`, or a comment, which is the third group: ten times as fast as Python's tokenizer.
_COMMENT = re.compile(r"""('{3}|"{3})(?:\\.|[^\\])*?\1|(['"])(?:\\.|(?!\2)[^\\\n])*\2|(\#[^\n]*)""", re.DOTALL)
_SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")
_GENERATED = re.compile(r"(Generated|Transpiled|Written) by ")


class Piece(NamedTuple):
    """A docstring, comment, message or paragraph, on one line, with its file and line number."""

    path: str
    line: int
    text: str


def pieces() -> Iterator[Piece]:
    """Yield the prose of all Python files and pages under version control that are written by hand."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py", "*.md"],  # noqa: S607 - git on PATH
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        yield from pieces_of(name)


def pieces_of(name: str) -> Iterator[Piece]:
    """Yield the prose of a file; none if the file is generated or absent."""
    path = ROOT / name
    if not path.is_file() or name.startswith("docs/instructions/"):  # generated pages, not written by hand
        return
    source = path.read_text(encoding="utf-8")
    if _GENERATED.search(source[:300]):
        return
    found = in_module(source) if path.suffix == ".py" else in_page(source)
    yield from (Piece(name, line, prose(text)) for line, text in found)


def prose(text: str) -> str:
    """Return a text on one line, with empty backticks for quoted code and without link targets."""
    return TARGET.sub("]()", QUOTED.sub("``", " ".join(text.split())))


def in_module(source: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, messages and comments of a Python module."""
    tree = ast.parse(source)
    described: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _CHAPTERS):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    described.add(id(statement.value))
                    yield statement.lineno, str(statement.value.value)
        elif isinstance(node, ast.JoinedStr):
            described.update(map(id, node.values))
            parts = [str(each.value) if isinstance(each, ast.Constant) else "``" for each in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield from [(node.lineno, node.value)] if _is_message(node.value) else ()
    for match in _COMMENT.finditer(source) if "#" in source else ():
        comment: str | None = match[3]
        if comment is not None and not _DIRECTIVE.match(comment):
            yield source.count("\n", 0, match.start()) + 1, comment.lstrip("# ")


def _is_message(text: str) -> bool:
    return bool(_SENTENCE.search(text)) and "\n" not in text.strip()


def in_page(source: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs and the rows of tables of a Markdown page, without its code blocks."""
    paragraph: list[str] = []
    fenced = False
    for number, line in enumerate([*source.splitlines(), ""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            continue
        elif line.strip() and not line.startswith("|"):
            paragraph.append(line)
        else:
            if paragraph:
                yield number - len(paragraph), " ".join(paragraph)
            paragraph = []
            if line.startswith("|"):
                yield number, line
