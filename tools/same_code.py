"""Prove that Python files differ from an earlier commit in names, messages and documentation only.

    python -m tools.same_code [--names] COMMIT [PATH …]

Compares the syntax tree of each changed Python file below the paths (default: `packages/*/src`) with its tree at
COMMIT; git matches renamed files. These changes are allowed:

- docstrings and comments;
- names that `renamed.tsv` or a renamed file lists; different variables of a function keep different names;
- strings that consist of such names and of separators, for instance `"pyptx_sim.mma:MmaBatch"`;
- the order of the imports of a block, `__all__` and `__slots__`; imports that no code uses, only messages;
- texts of strings and f-strings, if one has a space and no line of either ends like code, with `;` or `{`;
- the arguments of a call `…Error(…)`, without keywords except `hint=` and `help=`.

Prints each file that differs otherwise and is not in `differing_code.tsv`, with its first difference; each file there
that does not differ; and each changed name that `renamed.tsv` lacks (`--names`: only these, as rows for that table).
Exits with 1 if there is anything to print.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import csv
import re
import subprocess
import sys
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tools.rename import table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
REASONS: Final = Path(__file__).with_name("differing_code.tsv")
_WORDS: Final = re.compile(r"([^\w-]+)")
_CODE: Final = re.compile(r"[;{]\s*$", re.MULTILINE)


class Part(NamedTuple):
    """Part of a statement that may change: variable, name, text (of f-strings: fields as `_`), imports or `__all__`."""

    kind: str
    words: tuple[str, ...]
    inner: tuple[Part | str, ...] = ()


class Statement(NamedTuple):
    """A statement without its nested blocks; `scope` is the first line of the outermost function around it."""

    text: str
    line: int
    scope: int
    parts: tuple[Part | str, ...]


def statements(body: Sequence[ast.stmt], depth: str = "", scope: int = 0) -> Iterator[Statement]:
    """Yield the imports of a Python block as one statement, then each other statement, before its nested blocks."""
    imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    names = [f"{ast.unparse(each).split()[1]} {ast.unparse(name)}" for each in imports for name in each.names]
    yield Statement("imports", body[0].lineno if body else 1, scope, (depth, Part("imports", tuple(names))))
    for each in body:
        if each in imports or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):  # skip docstrings
            continue
        around = scope or (each.lineno if isinstance(each, ast.FunctionDef) else 0)
        blocks: list[list[ast.stmt]] = []
        parts = (depth, *_parts(each, blocks))
        yield Statement(ast.unparse(each).partition("\n")[0], each.lineno, around, parts)
        for block in blocks:
            yield from statements(block, depth + ">", around)


def _parts(node: ast.AST | list[Any] | complex | str | None, blocks: list[list[ast.stmt]]) -> Iterator[Part | str]:
    """Yield the fields of a syntax tree in order, without arguments of exceptions; append nested blocks to `blocks`."""
    match node:
        case ast.Constant(value=str(text)):
            yield Part("text", (text,))
        case ast.JoinedStr(values=values):
            literal = "".join(str(each.value) if isinstance(each, ast.Constant) else "_" for each in values)
            fields = [each for each in values if not isinstance(each, ast.Constant)]
            yield Part("text", (literal,), tuple(_parts(fields, blocks)))
        case ast.Assign([ast.Name("__slots__")], ast.Tuple(names)) if _constants(names):
            yield Part("__all__", tuple(ast.literal_eval(node.value)))
        case ast.Assign([ast.Name("__all__")]) | ast.AnnAssign(ast.Name("__all__")) if node.value is not None:
            yield Part("__all__", tuple(ast.literal_eval(node.value)))
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)) if name.endswith("Error"):
            yield from _parts([node.func, [each for each in node.keywords if each.arg not in {"hint", "help"}]], blocks)
        case ast.Name(id=name) | ast.arg(arg=name):
            yield type(node).__name__
            yield from (Part("variable", (name,)), *_parts(getattr(node, "annotation", None), blocks))
        case ast.AST():
            yield type(node).__name__
            for _, value in ast.iter_fields(node):
                yield from _parts(value, blocks)
        case [ast.stmt(), *_]:
            yield "block"
            blocks.append(node)
        case list():
            yield str(len(node))
            for each in node:
                yield from _parts(each, blocks)
        case _:
            yield Part("name", (node,)) if isinstance(node, str) else repr(node)


def _constants(nodes: Sequence[ast.expr]) -> bool:
    return all(isinstance(node, ast.Constant) for node in nodes)


def _shape(parts: Sequence[Part | str]) -> tuple[str, ...]:
    """Return the fields of a statement that must not change, and the `kind` of each `Part`, which may change."""
    return tuple(each if isinstance(each, str) else each.kind for each in parts)


class Comparison:
    """Two source texts of a module: their changed names, and their differences, given known renames."""

    def __init__(self, before: str, now: str) -> None:
        self.names: list[tuple[tuple[str, str], int]] = []
        self._differences: list[str] = []
        self._unclear: list[tuple[Part, Part, int]] = []
        self._variables: dict[tuple[int, int, str], set[str]] = defaultdict(set)
        old, new = (list(statements(ast.parse(text).body)) for text in (before, now))
        parts = [part for each in (*old, *new) for part in each.parts if isinstance(part, Part)]
        self._used = {name for kind, names, _ in parts if kind in {"variable", "__all__"} for name in names}
        shapes, others = ([_shape(each.parts) for each in side] for side in (old, new))
        for tag, start, end, first, last in SequenceMatcher(None, shapes, others, autojunk=False).get_opcodes():
            if tag == "equal":
                for one, other in zip(old[start:end], new[first:last], strict=True):
                    self._compare(one.parts, other.parts, other)
            else:
                texts = ("; ".join(each.text for each in part)[:100] for part in (old[start:end], new[first:last]))
                self._differences.append(f"{new[min(first, len(new) - 1)].line}: {' -> '.join(texts)}")

    def _compare(self, old: Sequence[Part | str], new: Sequence[Part | str], at: Statement) -> None:
        """Record the changed names and texts of two statements of the same shape."""
        sides = ([part for part in side if isinstance(part, Part)] for side in (old, new))
        for one, other in zip(*sides, strict=True):
            before, now = "".join(one.words), "".join(other.words)
            if one.kind == "variable" and at.scope:
                self._variables[at.scope, 0, before].add(now)
                self._variables[at.scope, 1, now].add(before)
            if one.words == other.words and _shape(one.inner) == _shape(other.inner):
                self._compare(one.inner, other.inner, at)
            elif one.kind in {"variable", "name"} and not hasattr(builtins, before):
                self.names.append(((before, now), at.line))
            else:
                self._unclear.append((one, other, at.line))

    def differences(self, known: Collection[tuple[str, str]]) -> Iterator[str]:
        """Yield the differences of the two texts, each with its line."""
        yield from self._differences
        for (scope, _, name), others in self._variables.items():
            yield from [f"{scope}: variable {name} is {' and '.join(sorted(others))}"] if len(others) > 1 else ()
        for old, new, line in self._unclear:
            texts = old.words + new.words
            if old.kind != "text":
                gone, come = set(old.words) - set(new.words), set(new.words) - set(old.words)
                alone = [each for each in gone if not any(_are_names(each, other, known) for other in come)]
                alone += [each for each in come if not any(_are_names(other, each, known) for other in gone)]
                used = (each for each in sorted(alone) if " as " in each or each.rpartition(" ")[2] in self._used)
                yield from (f"{line}: only one text has {each}" for each in used)
            elif " " not in "".join(texts) or old.words == new.words or any(map(_CODE.search, texts)):
                same = old.inner == new.inner and _are_names(texts[0], texts[1], known)
                yield from () if same else [f"{line}: {texts[0]!r} -> {texts[1]!r}"]


def _are_names(before: str, now: str, known: Collection[tuple[str, str]]) -> bool:
    old, new = _WORDS.split(before), _WORDS.split(now)
    return len(old) == len(new) and all(pair[0] == pair[1] or pair in known for pair in zip(old, new, strict=True))


def changed_files(commit: str, paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return the old and the new path of each changed Python file; "" for a file that is new or was removed."""
    patterns = [f":(glob){path}/**/*.py" if path.is_dir() else str(path) for path in paths]
    shown = _git("diff", "--name-status", "--find-renames=30%", commit, "--", *patterns)
    rows = [row.split("\t") for row in shown.splitlines()]
    return [("" if kind == "A" else names[0], "" if kind == "D" else names[-1]) for kind, *names in rows]


def _git(*arguments: str) -> str:
    return subprocess.check_output(["git", "-C", str(ROOT), *arguments], encoding="utf-8")  # noqa: S607 - git on PATH


def report(commit: str, paths: Sequence[Path]) -> tuple[list[str], dict[tuple[str, str], list[str]]]:
    """Return a line per differing file and per listed file without difference; and lines of names not in the table."""
    rows = csv.DictReader(REASONS.read_text(encoding="utf-8").splitlines(), delimiter="\t")
    listed = {row["path"] for row in rows if row["reason"] and any(map((ROOT / row["path"]).is_relative_to, paths))}
    files = changed_files(commit, paths)
    known = {(old, new) for old, new, _ in table()}
    for names in files:
        known.update(zip(*(re.split(r"[/.]", each) for each in names), strict=False))
    found = {new or old: " new" if new else " removed" for old, new in files if not (old and new)}
    unknown, compared = defaultdict[tuple[str, str], list[str]](list), dict[str, Comparison]()
    for old, new in (each for each in files if all(each)):
        compared[new] = Comparison(_git("show", f"{commit}:{old}"), (ROOT / new).read_text(encoding="utf-8"))
        for pair, line in compared[new].names if new not in listed else ():
            if pair not in known:
                unknown[pair].append(f"{new}:{line}")
    known |= unknown.keys()
    found |= {path: first for path, each in compared.items() if (first := next(each.differences(known), ""))}
    lines = [f"{path}:{found[path]}" for path in sorted(found.keys() - listed)]
    return lines + [f"{path}: does not differ" for path in sorted(listed - found.keys())], unknown


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the files of the command line with the commit; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="print the names that the table lacks, as rows")
    parser.add_argument("commit")
    parser.add_argument("paths", nargs="*", type=Path, default=sorted(ROOT.glob("packages/*/src")))
    options = parser.parse_args(argv)
    lines, unknown = report(options.commit, [each.resolve() for each in options.paths])
    rows = [f"{old}\t{new}\tinternal" for old, new in sorted(unknown)]
    lines += [f"{old} -> {new}: {len(places)} times, first at {places[0]}" for (old, new), places in unknown.items()]
    sys.stdout.writelines(f"{line}\n" for line in (rows if options.names else lines))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
