"""Each package's instructions are in a stub of its own, which imports only used names from other stubs."""

from __future__ import annotations

import ast

import pytest

from pyptx_dsl.stubs.parts import CORE, by_stub, file_of
from pyptx_dsl.stubs.stub import write_stubs
from pyptx_ir.isa.rows import InstructionRow, row

COPY = row("copy.mode.type d, a", mode=("near", "far"), type=("b32", "b64"))
OURS = (COPY, row("add.u32 d, a, b"))
ACME = "acme_arch.ptx.instruction_set"
RIVAL = "rival.ptx.instruction_set"
DEEP = row("copy.near.deep.b32 d, a", summary="Copy from the deep.")


def written(**packages: tuple[InstructionRow, ...]) -> dict[str, str]:
    """Return the stubs of pyptx-dsl's `ROWS` and of the given packages' rows."""
    return write_stubs(by_stub({"pyptx_ir": OURS, **packages}))


def classes(stub: str) -> dict[str, list[str]]:
    """Return the members of each class of a stub file, without docstrings."""
    nodes = [node for node in ast.parse(stub).body if isinstance(node, ast.ClassDef)]
    members = {node.name: [each for each in node.body if not isinstance(each, ast.Expr)] for node in nodes}
    return {name: [ast.unparse(each).partition("\n")[0] for each in body] for name, body in members.items()}


def test_a_package_whose_opcodes_are_its_own_is_imported_by_them() -> None:
    stubs = written(acme_arch=(row("frob.b32 d, a"), row("grok.b32 d, a")))
    assert stubs.keys() == {CORE, ACME}
    (line,) = (line for line in stubs[CORE].splitlines() if "acme" in line)
    assert line == f"    from {ACME} import frob as frob, grok as grok"
    assert classes(stubs[ACME]).keys() == {"Frob", "Grok"}
    assert {"frob: Frob", "grok: Grok"} <= set(stubs[ACME].splitlines())


def test_a_word_behind_words_of_the_core_is_a_member_of_the_class_of_these_alone() -> None:
    stubs = written(acme_arch=(DEEP,))
    found = classes(stubs[CORE])
    assert found["Copy"] == ["far: Copy_far", "near: Copy_near"]
    assert found["Copy_near"][0] == f"from {ACME} import copy_near_deep as deep"
    assert len(found["Copy_far"]) == 2
    assert list(classes(stubs[ACME])) == ["Copy_near_deep"]
    assert 'copy_near_deep: Copy_near_deep\n"""Copy from the deep.\n' in stubs[ACME]


def test_a_word_that_ends_an_instruction_is_an_object_that_can_be_called() -> None:
    stubs = written(acme_arch=(row("copy.near.quickly d, a"),))
    assert f"from {ACME} import copy_near_quickly as quickly" in stubs[CORE]
    (method,) = classes(stubs[ACME])["Copy_near_quickly"]
    assert method.startswith("def __call__(self, d: ")


@pytest.mark.parametrize(
    "rows",
    [
        (row("copy.near.deep.b32 d, a", summary="Copy otherwise."),),
        (row("copy.near.deep.b32 d, [a], b"), row("copy.near.deep.er.b64 d, a")),
        (row("copy.near.deep{.now}.type d, a", type=("b32", "u64")), row("copy.near.deep d")),
    ],
)
def test_what_follows_a_word_changes_nothing_in_the_stub_that_imports_it(rows: tuple[InstructionRow, ...]) -> None:
    before, after = written(acme_arch=(DEEP,)), written(acme_arch=rows)
    assert after[CORE] == before[CORE]
    assert after[ACME] != before[ACME]


def test_words_that_lead_to_the_same_are_imported_each_by_its_own_name() -> None:
    either = row("copy.near.what.b32 d, a", what=("deep", "high"))
    stubs = written(acme_arch=(either,))
    assert f"from {ACME} import copy_near_deep as deep, copy_near_high as high" in stubs[CORE]
    assert len(classes(stubs[ACME])) == 1
    apart = (DEEP, row("copy.near.high.b32 d, a, b"))
    assert written(acme_arch=apart)[CORE] == stubs[CORE]


def test_a_form_of_a_call_that_there_is_becomes_its_overload() -> None:
    stubs = written(acme_arch=(row("add.u32 d, a, b, c"), DEEP))
    (method,) = classes(stubs[CORE])["Add"]
    assert "b: Value, c: Value=..., /" in method
    assert "Add" not in stubs[ACME]
    assert written(acme_arch=(row("add.u32 d, a, b, c"),)).keys() == {CORE}


def test_words_of_two_packages_beside_the_core_belong_to_this_projects_then_to_the_first_by_name() -> None:
    stubs = written(rival=(row("frob.b64 d, a"),), acme_arch=(row("frob.b32 d, a"),))
    assert "rival" not in stubs[CORE]
    assert f"from {RIVAL} import frob_b64 as b64" in stubs[ACME]
    hopper = "pyptx_arch_hopper.ptx.instruction_set"
    stubs = written(acme_arch=(row("frob.b32 d, a"),), pyptx_arch_hopper=(row("frob.b64 d, a"),))
    assert f"from {ACME} import frob_b32 as b32" in stubs[hopper]


def test_a_plugin_that_lies_in_no_package_is_written_with_the_core() -> None:
    stubs = write_stubs(by_stub({"pyptx_ir": OURS, "": (row("frob.b32 d, a"),)}))
    assert stubs.keys() == {CORE}
    assert "frob: Frob" in stubs[CORE]


def test_a_stub_imports_the_names_that_it_uses_and_no_other() -> None:
    stub = written(acme_arch=(DEEP,))[ACME]
    assert "overload" not in stub
    assert "operand_types import Guard, Result, Value\n" in stub


def test_stubs_lie_where_type_checkers_look_for_their_modules() -> None:
    assert file_of(ACME).as_posix() == "acme_arch/ptx/instruction_set.pyi"
