"""Internals of torch that pyptx relies on exist and behave as expected."""

from __future__ import annotations

import ctypes
import warnings

import pytest
import torch

from pyptx_torch import internals, native

pytestmark = pytest.mark.torch


def test_the_guards_answer_no_where_nothing_is_going_on():
    assert [bool(guard()) for guard in internals.GUARDS] == [False] * len(internals.GUARDS)
    assert not internals.is_capturing()


@pytest.mark.parametrize("initialized", [False, True])
def test_torch_is_asked_about_captures_only_after_it_has_initialized_cuda(monkeypatch, initialized):
    asked = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: initialized)
    monkeypatch.setattr(torch._C, "_cuda_isCurrentStreamCapturing", lambda: asked.append(1) or True, raising=False)
    assert internals.is_capturing() is initialized
    assert len(asked) == initialized


def test_each_guard_answers_yes_for_what_it_is_about():
    def answers():
        return [bool(guard()) for guard in internals.GUARDS]

    seen = []
    with torch._subclasses.fake_tensor.FakeTensorMode():
        seen.append(answers())
    with torch.device("cpu"):
        seen.append(answers())
    torch.vmap(lambda x: seen.append(answers()) or x)(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch deprecates torch.jit.trace
        torch.jit.trace(lambda x: seen.append(answers()) or x + 1, torch.ones(2), check_trace=False)
    with torch.autograd.profiler.profile(use_cpu=True):
        seen.append(answers())
    with torch.autograd.forward_ad.dual_level():
        seen.append(answers())
    for number, row in enumerate(seen):
        assert row[number], (number, row)


def test_torchs_own_functions_answer_as_the_guards_in_python_do():
    found = native.native()
    assert found is not None, "this torch lacks a native function: launches are correct but slower"
    guards = [(ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_uint16)(each), key) for each, key in found.guards]

    def listening():
        return [function(key) for function, key in guards]

    seen = [[listening()], [], [], [], []]
    with torch._subclasses.fake_tensor.FakeTensorMode():
        seen[0].append(listening())
    torch.vmap(lambda x: seen[1].append(listening()) or x)(torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.trace(lambda x: seen[2].append(listening()) or x + 1, torch.ones(2), check_trace=False)
    with torch.device("cpu"):
        seen[3].append(listening())
    with torch.autograd.profiler.profile(use_cpu=True):
        seen[4].append(listening())
    assert seen[0].pop(0) == [False] * 5
    assert [row[0][number] for number, row in enumerate(seen)] == [True] * 5


@pytest.mark.parametrize("missing", ["_IS_INCLUDED", "_BUMP_VERSION", "_IS_NEG", "_GRAD_MODE", "_STORAGE_SIZE"])
def test_where_torch_lacks_one_of_its_functions_python_is_asked(monkeypatch, missing):
    monkeypatch.setattr(native, missing, "no_such_function")
    assert native.native.__wrapped__() is None
    monkeypatch.setattr(native, "_IS_NEG", native._IS_INFERENCE)
    assert native.native.__wrapped__() is None, "a native function with a wrong result must not be used"


@pytest.mark.parametrize("missing", [*native._ALLOCATION, *native._CODES])
def test_where_torch_lacks_a_function_that_allocates_python_allocates(monkeypatch, missing):
    assert native.native().empty
    for names in ("_ALLOCATION", "_CODES"):
        listed = getattr(native, names)
        monkeypatch.setattr(native, names, tuple("no_such_function" if each == missing else each for each in listed))
    found = native.native.__wrapped__()
    assert found is not None
    assert (found.empty, found.wrap, found.drop) == (0, 0, 0)
    monkeypatch.setattr(native, "native", lambda: found)
    assert native.codes_of(torch.ones(2)) == ()


def test_an_allocation_that_is_not_what_was_asked_for_is_not_used(monkeypatch):
    monkeypatch.setattr(native, "_codes", lambda tensor, offset: (7, 0, -1))  # 7: torch's code of dtype float64
    assert native.native.__wrapped__().empty == 0


def test_tensors_and_parameters_offer_dlpacks_exchange_api():
    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    assert hasattr(torch.nn.Parameter, "__dlpack_c_exchange_api__")


def test_our_namespace_is_the_one_that_torch_uses():
    from pyptx_torch.namespace import NAME, NAMESPACE

    assert getattr(torch.ops, NAME) is NAMESPACE
    with pytest.raises(AttributeError):
        _ = NAMESPACE.no_such_operator
    assert "no_such_operator" not in NAMESPACE.packets
