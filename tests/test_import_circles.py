"""Modules have no import cycles at run time, even inside functions; imports for type checkers may form cycles.

A module of a run-time cycle cannot be understood, tested or loaded without the others. A cycle can be closed
inside a function, by `import_module` with a string, through a re-exported name, or in the `__init__` of a package.
"""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path for path in ROOT.glob("packages/*/src/*") if (path / "__init__.py").exists())


def run_time_imports(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports below a node, at any depth, except those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import() | ast.ImportFrom():
                yield child
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                for other in child.orelse:
                    yield from run_time_imports(other)
            case _:
                yield from run_time_imports(child)


def names_in(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the dotted names that a statement imports: modules, or names of modules."""
    for alias in statement.names:
        yield alias.name if isinstance(statement, ast.Import) else f"{statement.module}.{alias.name}"


def modules_named(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that are imported by a literal name in `import_module("…")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[argument, *_]):
                if isinstance(argument, ast.Constant):
                    yield argument.value


def front_door(tree: ast.Module, package: str) -> dict[str, str]:
    """Map the dotted name of each export of a package's `__init__`, lazy or not, to the dotted name of its origin."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {
        f"{package}.{alias.asname or alias.name}": f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
    }


def loaded(name: str, files: Container[str], doors: Mapping[str, str]) -> Iterator[str]:
    """Yield the modules that run when a name is imported: its own, those of all re-exports, and all parent packages."""
    while name in doors and name not in files:
        yield from loaded(name.rpartition(".")[0], files, doors)
        name = doors[name]
    if name not in files:
        name = name.rpartition(".")[0]
    parts = name.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def graph(package: Path) -> Mapping[str, set[str]]:
    """Return the modules of a package, each with the modules that it imports, without its parent packages."""
    files = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py*")
        if path.suffix in {".py", ".pyi"}
    }
    texts = {module: path.read_text(encoding="utf-8") for module, path in files.items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    doors = dict[str, str]()
    for module, path in files.items():
        if path.name == "__init__.py":
            doors |= front_door(trees[module], module)
    found = dict[str, set[str]]()
    for module, tree in trees.items():
        names = {name for statement in run_time_imports(tree) for name in names_in(statement)}
        if "import_module" in texts[module]:
            names.update(modules_named(tree))
        run = {each for name in names for each in loaded(name, files, doors)}
        found[module] = {each for each in run & files.keys() if not f"{module}.".startswith(f"{each}.")}
    return found


def circle_in(imports: Mapping[str, set[str]]) -> list[str]:
    """Return the modules of an import cycle; empty if no cycle exists."""
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


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Create a package of two modules; the first imports the second."""
    folder = tmp_path / "acme"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text("from acme.two import name\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "back",
    [
        "def ask():\n    from acme import one\n    return one\n",
        "def ask():\n    import acme.one\n",
        "def ask():\n    from acme import shown\n    return shown\n",
        "import acme.room.wall\n",
        "def ask():\n    return import_module('acme.one')\n",
    ],
    ids=["in a function", "by its full name", "through the package's __init__", "from a parent package", "by name"],
)
def test_a_circle_is_found_whichever_way_it_closes(package: Path, back: str) -> None:
    late = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from acme.one import shown\n"
    (package / "__init__.py").write_text(late, encoding="utf-8")
    (package / "room").mkdir()
    (package / "room" / "__init__.py").write_text("from acme.one import shown\n", encoding="utf-8")
    (package / "room" / "wall.py").touch()
    (package / "two.py").write_text(back, encoding="utf-8")
    assert {"acme.one", "acme.two"} <= set(circle_in(graph(package)))


def test_what_only_type_checkers_import_is_no_circle(package: Path) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from acme import one\n"
    (package / "two.py").write_text(typed, encoding="utf-8")
    assert not circle_in(graph(package))
