"""The stub of `ptx.inst` contains every opcode of the instruction table, and nothing else."""

from __future__ import annotations

import ast
import keyword
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl.instructions.forms.automaton import State, spellings
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.stubs.parts import CORE
from pyptx_dsl.stubs.signatures import signatures
from pyptx_dsl.stubs.stub import write_stubs
from pyptx_ir.commands import main
from pyptx_ir.isa.forms import forms
from pyptx_ir.isa.matching import match_modifiers
from pyptx_ir.isa.rows import row
from pyptx_ir.isa.table.chapters import ROWS
from pyptx_ir.syntax import parse_instruction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyptx_ir.isa.rows import InstructionRow

ROOT = spellings(ROWS)
STUB = write_stubs({CORE: ROWS})[CORE]
CLASSES = {node.name: node for node in ast.parse(STUB).body if isinstance(node, ast.ClassDef)}


def follow(words: tuple[str, ...]) -> State:
    state = ROOT
    for word in words:
        state = state.following[word]
    return state


def all_states(state: State, seen: dict[int, State]) -> dict[int, State]:
    if id(state) not in seen:
        seen[id(state)] = state
        for following in state.following.values():
            all_states(following, seen)
    return seen


STATES = list(all_states(ROOT, {}).values())


@cache
def counts(words: tuple[str, ...]) -> frozenset[int]:
    """Return the numbers of operands that the instruction table rows of an opcode allow."""
    ways = signatures(follow(words).accepted)
    return frozenset(
        count for way in ways for count in range(sum(not parameter.optional for parameter in way), len(way) + 1)
    )


@pytest.mark.long
def test_every_form_of_every_row_can_be_spelt_and_called() -> None:
    for each in ROWS:
        for text in islice(forms(each), 12):
            instruction = parse_instruction(text)
            accepted = follow(instruction.opcode).accepted
            assert each in {thread.pattern.row for thread in accepted}, text
            assert len(instruction.operands) in counts(instruction.opcode), text


def test_whatever_can_be_spelt_is_a_form_of_the_rows_that_it_names() -> None:
    for state in STATES:
        for thread in state.accepted:
            assert match_modifiers(thread.pattern, state.spelling[1:]) is not None, (state.spelling, thread)


def test_no_state_is_a_dead_end_and_each_has_a_spelling_of_its_own() -> None:
    assert all(state.accepted or state.following for state in STATES)
    assert len({state.spelling for state in STATES}) == len(STATES)


def test_equal_continuations_are_one_state() -> None:
    assert follow(("add", "u32")) is follow(("add", "s64"))
    assert follow(("fma", "rn")) is follow(("fma", "rz")) or follow(("fma", "rz")).following != follow(("fma", "rn"))
    assert len(STATES) < 12 * len(ROWS)


def parameters_of(form: InstructionRow) -> list[str]:
    state = spellings([form])
    while state.following:
        state = next(iter(state.following.values()))
    return [
        " ".join(f"{each.name}: {each.type}{' = ...' if each.optional else ''}" for each in way)
        for way in signatures(state.accepted)
    ]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (row("add.u32 d, a, b"), ["d: Reg a: Value b: Value"]),
        (row("ld.u32 d, [a]"), ["d: Reg a: Name"]),
        (row("ld.v2.u32 d, [a]", operands={"d": "vec(u32)"}), ["d: Values a: Name"]),
        (row("ld.u32 d, [a]", operands={"d": "vec(u32)"}), ["d: Reg a: Name"]),
        (row("mma.f32 d, a", operands={"d": "4*f32", "a": "2*f32"}), ["d: Values a: Values"]),
        (row("setp.u32 p{|q}, a"), ["p: Reg | TwoResults a: Value"]),
        (row("elect.sync d|p, m", operands={"d": "int32 or _"}), ["d: TwoResults m: Value"]),
        (row("atom.u32 d, [a], b", operands={"d": "u32 or _"}), ["d: Reg | NoResult a: Name b: Value"]),
        (row("bar.sync a{, b}", operands={"a": "int32", "b": "int32"}, access="rr"), ["a: Value b: Value = ..."]),
        (
            row("bar.red.u32 d, a{, b}, p", operands={"p": "label", "d": "u32"}),
            ["d: Reg a: Value p: Name", "d: Reg a: Value b: Value p: Name"],
        ),
        (row("is.u32 in, a, a"), ["in_: Reg a: Value a2: Value"]),
        (row("cp.x [d], n{, policy}", operands={"n": "imm", "policy": "u64 with y"}), ["d: Name n: Constant"]),
        (row("bra target", operands={"target": "label"}, access="r"), ["target: Name"]),
    ],
)
def test_operands_become_parameters(form: InstructionRow, expected: list[str]) -> None:
    assert parameters_of(form) == expected


def members(node: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Yield each member of a class: name, kind (a class, a method, another name), and documentation."""
    for each, following in zip(node.body, [*node.body[1:], None], strict=True):
        match each:
            case ast.AnnAssign(target=ast.Name(name), annotation=ast.Name(type_name)):
                told = following.value if isinstance(following, ast.Expr) else None
                yield name, type_name, str(told.value) if isinstance(told, ast.Constant) else ""
            case ast.FunctionDef(name=name):
                yield name, "method", ast.get_docstring(each) or ""
            case ast.Assign(targets=[ast.Name(name)], value=ast.Name(first)):
                yield name, first, "another name"


def test_the_stub_is_python_and_has_a_member_for_every_word() -> None:
    compile(STUB, "instruction_set.pyi", "exec")
    named = {state.spelling: state for state in STATES if state.following}
    assert len(CLASSES) == len(named)
    words = {word for state in STATES for word in state.following}
    for owner, node in CLASSES.items():
        names = {name for name, _, _ in members(node)} - {"__call__", "__getitem__"}
        assert {to_ptx(name) for name in names} <= words, owner
        assert not [name for name in names if keyword.iskeyword(name) or not name.isidentifier()]
        for name, what, _ in members(node):
            assert what == "method" or what in CLASSES or what in names, (owner, name)


def in_stub(words: tuple[str, ...]) -> tuple[str, bool]:
    """Look up an opcode's tokens in the stub one by one; return the last token's docstring, and if it is callable."""
    what, told = "Instructions", ""
    for word in words:
        found: dict[str, tuple[str, str]] = {}
        for name, sort, text in members(CLASSES[what]):
            found.setdefault(to_ptx(name), (sort, text))
        what, told = found[word]
        if what not in CLASSES and what != "method":  # this class member is an alias of the method `what`
            what, told = found[to_ptx(what)]
    return told, what == "method" or "__call__" in {name for name, _, _ in members(CLASSES[what])}


def test_every_instruction_can_be_called_and_is_explained_at_its_last_word() -> None:
    for each in ROWS:
        opcode = parse_instruction(next(forms(each))).opcode
        told, callable_here = in_stub(opcode)
        assert callable_here, opcode
        assert each.syntax.partition(" ")[0].partition("{")[0] in told or "more forms" in told, (opcode, told)


def test_what_is_told_is_summary_syntax_version_and_targets() -> None:
    told, _ = in_stub(("activemask", "b32"))
    assert told.endswith("- `activemask.b32 d` (PTX 6.2, any target)"), told
    told, _ = in_stub(("cp", "async"))
    assert "- `cp.async.wait_group`: Wait until" in told


def test_the_stub_does_not_depend_on_the_order_of_rows() -> None:
    assert write_stubs({CORE: tuple(reversed(ROWS))}) == {CORE: STUB}


@pytest.mark.long
def test_the_command_writes_a_stub_where_type_checkers_look(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stubs", "--output", str(tmp_path)]) == 0
    path = tmp_path / "pyptx_dsl" / "instructions" / "instruction_set.pyi"
    assert "class Instructions:" in path.read_text(encoding="utf-8")
    assert str(path) in capsys.readouterr().out
    assert main(["stubs", "--nonsense"]) == 2


@pytest.mark.long
def test_the_command_writes_nothing_for_a_package_without_instructions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stubs", "--package", "nonesuch", "--output", str(tmp_path)]) == 2
    assert "no plugin of package nonesuch adds instructions to ptx.inst" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_attribute_can_be_given_as_text() -> None:
    from pyptx_dsl import ptx as namespace

    assert repr(namespace.inst["add.f32.rn"]) == "ptx.inst.add.f32.rn"
    assert repr(namespace.inst["shfl"]["sync.bfly"].b32) == "ptx.inst.shfl.sync.bfly.b32"
    assert namespace.inst["ld.shared::cta"].u32 is not None
