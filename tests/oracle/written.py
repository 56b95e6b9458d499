"""Instructions that examples and wrappers emit, for comparison with ptxas: each register is renamed by its type."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import pyptx_ir.toolchain
from pyptx_ir.syntax import parse, spell, walk
from pyptx_ir.syntax.nodes import Function, Instruction, Label, RegisterDeclaration, Statement, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "tests" / "end_to_end" / "gallery.py"
WRAPPERS = ROOT / "packages" / "pyptx-dsl" / "tests" / "test_ptx_assembles.py"

# Names of the variables in the oracle's forms of instructions, by state space.
VARIABLES = {"param": "pp", "shared": "smem", "global": "gmem", "const": "cmem", "local": "lmem"}
_NAME = re.compile(r"[%$_A-Za-z][\w$%]*")


def forms_in(text: str) -> Iterator[str]:
    """Yield every instruction of a module without its guard, registers and symbols renamed as in the oracle's forms."""
    module = parse(text)
    shared = _variables(module.body)
    for function in module.body:
        if isinstance(function, Function) and function.body is not None:
            names = shared | _names(function)
            yield from (_renamed(node, names) for node in walk(function.body) if isinstance(node, Instruction))


def _names(function: Function) -> dict[str, str]:
    """Return the new name of each register and symbol for the oracle's forms; registers are named by their types."""
    names = {parameter.name: "pp" for parameter in function.parameters or ()}
    for node in walk(function.body) if function.body else ():
        match node:
            case RegisterDeclaration(type=kind, names=declared):
                for name in declared:
                    every = [name.name] if name.count is None else [f"{name.name}{i}" for i in range(name.count)]
                    names |= dict.fromkeys(every, f"%{kind}")
            case Variable():
                names |= _variables((node,))
            case Label(name=name):
                names[name] = "done"
            case _:
                pass
    return names


def _variables(statements: Iterable[Statement]) -> dict[str, str]:
    return {
        declarator.name: VARIABLES[node.space]
        for node in statements
        if isinstance(node, Variable)
        for declarator in node.declarators
    }


def _renamed(node: Instruction, names: dict[str, str]) -> str:
    numbers: dict[str, int] = {}

    def renamed(found: re.Match[str]) -> str:
        known = names.get(found[0])
        if known is None or not known.startswith("%"):
            return known or found[0]
        return f"{known}_{numbers.setdefault(found[0], len(numbers) + 1)}"

    operands = [_NAME.sub(renamed, spell(operand)) for operand in node.operands]
    opcode = ".".join(node.opcode)
    return f"{opcode} {', '.join(operands)};" if operands else f"{opcode};"


def written_by_wrappers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run every test that assembles output of the DSL's wrappers with ptxas, and return the modules that they emit."""
    texts: list[str] = []
    assemble = pyptx_ir.toolchain.assemble

    def recording(text: str, *arguments: Any, **keywords: Any) -> object:
        texts.append(text)
        return assemble(text, *arguments, **keywords)

    monkeypatch.setattr(pyptx_ir.toolchain, "assemble", recording)
    module = loaded(WRAPPERS)
    for name, test in inspect.getmembers(module, inspect.isfunction):
        if name.startswith("test_"):
            for arguments in _arguments(test):
                test(**arguments)
    return texts


def loaded(path: Path) -> ModuleType:
    """Import a file of another test folder, which may import other files of the folder."""
    folder = ModuleType(f"written_{path.parent.parent.name}".replace("-", "_"))
    folder.__path__ = [str(path.parent)]
    sys.modules[folder.__name__] = folder
    specification = importlib.util.spec_from_file_location(f"{folder.__name__}.{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look the module up in `sys.modules`
    specification.loader.exec_module(module)
    return module


def _arguments(test: Callable[..., object]) -> Iterator[dict[str, object]]:
    """Yield the arguments that pytest's parametrize marks give a test."""
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    choices = [list(_rows(*mark.args)) for mark in marks]
    for rows in itertools.product(*choices):
        yield {name: value for row in rows for name, value in row.items()}


def _rows(names: str | Iterable[str], values: Iterable[object]) -> Iterator[dict[str, object]]:
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    for value in values:
        row = (value,) if len(listed) == 1 else cast("tuple[object, ...]", value)
        yield dict(zip(listed, row, strict=True))
