"""`dir` of `ptx` and of each namespace in it lists what a REPL or notebook can complete."""

from __future__ import annotations

import operator
import rlcompleter

import pytest

from pyptx_dsl import ptx
from pyptx_dsl.instructions.forms.automaton import spellings
from pyptx_dsl.naming import to_ptx, to_python
from pyptx_ir.plugins.manager import manager

hopper = pytest.mark.hopper


def test_opcodes_are_those_of_the_table() -> None:
    assert dir(ptx.inst) == sorted({to_python(row.opcode) for row in manager().instructions()})
    assert {"add", "mad", "and_"} <= set(dir(ptx.inst))


@pytest.mark.parametrize("opcode", ["mad", "ld", "cvt", pytest.param("wgmma", marks=hopper), "cp", "mma"])
def test_words_are_those_that_can_follow(opcode: str) -> None:
    state = spellings(manager().instructions_of(opcode)).following[opcode]
    here = getattr(ptx.inst, to_python(opcode))
    while state.following:
        assert {to_ptx(name) for name in dir(here)} == set(state.following)
        word, state = next(iter(state.following.items()))
        here = getattr(here, to_python(word))
    assert dir(here) == []


def test_words_out_of_order_are_completed_with_the_rest() -> None:
    assert "ftz" in dir(ptx.inst["add.f32.rn"])
    assert not {"f32", "rn"} & set(dir(ptx.inst["add.f32.rn"]))


@pytest.mark.parametrize(
    ("parent", "name"),
    [("ptx", "fma"), ("ptx.special", "tid"), ("ptx.atom", "add")],
)  # fmt: skip
def test_namespaces_list_their_names(parent: str, name: str) -> None:
    lists(parent, name)


@hopper
@pytest.mark.parametrize(
    ("parent", "name"),
    [("ptx", "wgmma"), ("ptx", "tma"), ("ptx.cp", "async_bulk"), ("ptx.cp.async_", "bulk"),
     ("ptx.fence", "proxy_async"), ("ptx.wgmma", "mma_async")],
)  # fmt: skip
def test_namespaces_list_the_names_of_plugins(parent: str, name: str) -> None:
    lists(parent, name)


def lists(parent: str, name: str) -> None:
    owner = ptx if parent == "ptx" else operator.attrgetter(parent.removeprefix("ptx."))(ptx)
    assert name in dir(owner)
    assert getattr(owner, name) is not None


@pytest.mark.parametrize(
    ("typed", "whole"),
    [("ptx.inst.ma", "ptx.inst.mad"), ("ptx.inst.mad.l", "ptx.inst.mad.lo"),
     pytest.param("ptx.wg", "ptx.wgmma", marks=hopper), ("ptx.inst.ld.gl", "ptx.inst.ld.global_")],
)  # fmt: skip
def test_a_python_shell_completes_them(typed: str, whole: str) -> None:
    completer = rlcompleter.Completer({"ptx": ptx})
    found = [completer.complete(typed, number) for number in range(4)]
    assert any((each or "").rstrip("(.)") == whole for each in found), found
