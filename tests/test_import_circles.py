"""No circle of imports is left at run time, those inside functions included; what only type checkers import may be one.

A circle at run time is two modules that can't be understood, tested or loaded one without the other.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path for path in ROOT.glob("packages/*/src/*") if (path / "__init__.py").exists())


def run_time_imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports below a node, at any depth, but for those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import() | ast.ImportFrom():
                yield child
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                for other in child.orelse:
                    yield from run_time_imports(other)
            case _:
                yield from run_time_imports(child)


def names_in(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Yield what a statement imports: a name of a module that is the first of the two if it exists, else the second."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            yield alias.name, alias.name
        elif statement.module is not None:
            yield f"{statement.module}.{alias.name}", statement.module


def graph(package: Path) -> Mapping[str, set[str]]:
    """Return the modules of a package, and which others of them each one imports."""
    files = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    found = dict[str, set[str]]()
    for module, path in files.items():
        statements = run_time_imports(ast.parse(path.read_text(encoding="utf-8")))
        pairs = [pair for statement in statements for pair in names_in(statement)]
        found[module] = {first if first in files else second for first, second in pairs} & files.keys() - {module}
    return found


def circle_in(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of a circle, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_modules_import_each_other_in_no_circle(package: Path) -> None:
    circle = circle_in(graph(package))
    assert not circle, " <- ".join(circle)


def test_a_circle_through_a_function_is_found(tmp_path: Path) -> None:
    package = tmp_path / "acme"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("from acme.two import name\n", encoding="utf-8")
    lazy = "def ask():\n    from acme import one\n    return one\n"
    (package / "two.py").write_text(lazy, encoding="utf-8")
    assert set(circle_in(graph(package))) == {"acme.one", "acme.two"}
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from acme import one\n"
    (package / "two.py").write_text(typed, encoding="utf-8")
    assert not circle_in(graph(package))
