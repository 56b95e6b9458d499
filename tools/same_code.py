"""Check that Python files differ from an earlier commit in prose only: docstrings, comments and line breaks.

    python -m tools.same_code COMMIT [PATH …]

Compares the syntax trees without docstrings, and the comments that tools read (`noqa`, `type: ignore`, …) of every
Python file below the paths (default: `packages/*/src`). Prints each file that differs otherwise, with its first changed
statement; exits with 1 if there is one. Files that COMMIT lacks are skipped.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
_DIRECTIVE = re.compile(r"#\s*(noqa: [A-Z]+\d+(, [A-Z]+\d+)*|(type|pragma|pyright|mypy|fmt|ruff): ?\S+( cover)?|!.*)")


def first_difference(before: str, now: str) -> str | None:
    """Return the first statement or directive of `now` that is not in `before` at its position; None if all are."""
    pairs = zip_longest(statements(before), statements(now), fillvalue=("", 0))
    for (old, _), (new, line) in pairs:
        if old != new:
            return f"line {line}: {new[:80]}" if new else f"removed: {old[:80]}"
    lost = set(directives(before)) ^ set(directives(now))
    return f"comment {min(lost)}" if lost else None


def statements(source: str) -> Iterator[tuple[str, int]]:
    """Yield the statements of a module without docstrings, each unparsed to one text, with its line number."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Module(body=body) | ast.ClassDef(body=body) | ast.FunctionDef(body=body) | ast.If(body=body):
                body[:] = [each for each in body if not _is_text(each)] or [ast.Pass(lineno=1)]
            case _:
                pass
    for statement in tree.body:
        yield ast.dump(statement), statement.lineno


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or the description of the attribute before it."""
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def directives(source: str) -> list[str]:
    """Return the comments that tools read, each with the code before it on its line."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = ((token, _DIRECTIVE.match(token.string)) for token in tokens if token.type == tokenize.COMMENT)
    return [token.line[: token.start[1]].strip() + match.group() for token, match in comments if match]


def differing(commit: str, paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yield each Python file below `paths` whose code differs from `commit`, with the first difference."""
    for path in sorted({file for each in paths for file in (each.rglob("*.py") if each.is_dir() else [each])}):
        name = path.resolve().relative_to(ROOT).as_posix()
        command = ["git", "-C", str(ROOT), "show", f"{commit}:{name}"]
        shown = subprocess.run(command, capture_output=True, check=False)
        if shown.returncode:
            continue
        before, now = shown.stdout.decode(), path.read_text(encoding="utf-8")
        difference = first_difference(before, now) if before != now else None
        if difference:
            yield path, difference


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("paths", nargs="*", type=Path, default=sorted(ROOT.glob("packages/*/src")))
    options = parser.parse_args(argv)
    found = list(differing(options.commit, options.paths))
    for path, difference in found:
        sys.stdout.write(f"{path}: {difference}\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
