"""The stubs of this project's packages: together they have every instruction; each stub needs its own package only."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from tools.generate_isa import candidates

from pyptx_dsl.instructions.forms.automaton import State, spellings
from pyptx_dsl.naming import to_python
from pyptx_dsl.stubs.parts import CORE, by_stub, parts
from pyptx_dsl.stubs.stub import write_stubs
from pyptx_ir.isa.rows import row
from pyptx_ir.plugins.manager import Plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = by_stub(Plugins(candidates).instructions_by_package())
PARTS = {part.module: part for part in parts(ROWS)}
STUBS = write_stubs(ROWS)
ARCHITECTURES = [module for module in STUBS if module != CORE]

StubClass = tuple[str, str]  # a stub module, and a class in it ("" for its functions)


def statements(module: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield each statement of a stub's classes, with the class name; and the module's own statements, with ""."""
    for node in ast.parse(STUBS[module]).body:
        yield from ((node.name, each) for each in node.body) if isinstance(node, ast.ClassDef) else (("", node),)


def read() -> dict[StubClass, dict[str, StubClass]]:
    """Return the members of each class and module of the stubs, each with the location of the member's class."""
    found: dict[StubClass, dict[str, StubClass]] = {}
    imported: list[tuple[StubClass, str, StubClass]] = []
    for module in STUBS:
        for owner, node in statements(module):
            members = found.setdefault((module, owner), {})
            match node:
                case ast.AnnAssign(target=ast.Name(name), annotation=ast.Name(of)):
                    members[name] = (module, of)
                case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(name)]):
                    members[name] = (module, "")
                case ast.ImportFrom(module=str(other), names=names) if owner:
                    imported += [((module, owner), each.asname or "", (other, each.name)) for each in names]
    for place, name, (module, variable) in imported:
        found[place][name] = found[module, ""][variable]
    return found


MEMBERS = read()


def differences(state: State, place: StubClass, seen: set[tuple[int, StubClass]]) -> Iterator[str]:
    """Yield the differences between the attribute paths of a stub class and all opcodes of the instruction table."""
    if (id(state), place) in seen:
        return
    seen.add((id(state), place))
    words = {to_python(word): following for word, following in state.following.items()}
    members = MEMBERS[place] if place[1] else {}
    if words.keys() != members.keys() - {"__call__", "__getitem__"}:
        yield f"{place} has {sorted(members)} after {state.spelling}"
        return
    if bool(state.accepted) != ("__call__" in members or not place[1]):
        yield f"{place} is callable without being an opcode, or the reverse: {state.spelling}"
    for name, following in words.items():
        yield from differences(following, members[name], seen)


def test_together_they_have_every_spelling_of_every_row_and_no_other() -> None:
    root = spellings(row for rows in ROWS.values() for row in rows)
    seen: set[tuple[int, StubClass]] = set()
    assert list(differences(root, (CORE, "Instructions"), seen)) == []
    assert len(seen) > len(MEMBERS)


@pytest.mark.parametrize("module", ARCHITECTURES)
def test_a_stub_knows_of_an_architecture_only_which_words_it_adds(module: str) -> None:
    words = PARTS[module].entries
    assert words
    other = {**ROWS, module: tuple(row(".".join((*entry, "otherwise")) + " d, a") for entry in words)}
    texts = write_stubs(other)
    assert texts[module] != STUBS[module]
    assert {name for name in STUBS if name != module and texts[name] != STUBS[name]} == set()


def test_no_form_of_an_architecture_is_another_ones_overload() -> None:
    assert {module: set(part.rows) for module, part in PARTS.items()} == {m: set(rows) for m, rows in ROWS.items()}


def test_the_core_names_a_word_of_an_architecture_once() -> None:
    lines = [line for line in STUBS[CORE].splitlines() if "pyptx_arch_" in line]
    assert all(line.lstrip().startswith("from pyptx_arch_") for line in lines)
    borders = [words for part in PARTS.values() for words in part.entries if words]
    assert sum(line.count(" as ") for line in lines) == len(borders)
    assert len(lines) == len({(words[:-1], part.module) for part in PARTS.values() for words in part.entries if words})
