"""What is used of torch without its promise is there, and does what we take it for."""

from __future__ import annotations

import warnings

import pytest
import torch

from pyptx_torch import internals

pytestmark = pytest.mark.torch


def test_the_guards_answer_no_where_nothing_is_going_on():
    assert [bool(guard()) for guard in internals.GUARDS] == [False] * len(internals.GUARDS)
    assert not internals.is_capturing()


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
        warnings.simplefilter("ignore", DeprecationWarning)  # torch would have everybody export instead
        torch.jit.trace(lambda x: seen.append(answers()) or x + 1, torch.ones(2), check_trace=False)
    with torch.autograd.forward_ad.dual_level():
        seen.append(answers())
    for number, row in enumerate(seen):
        assert row[number], (number, row)


def test_tensors_and_parameters_offer_dlpacks_exchange_api():
    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    assert hasattr(torch.nn.Parameter, "__dlpack_c_exchange_api__")


def test_our_namespace_is_the_one_that_torch_uses():
    from pyptx_torch.namespace import NAME, NAMESPACE

    assert getattr(torch.ops, NAME) is NAMESPACE
    with pytest.raises(AttributeError):
        _ = NAMESPACE.no_such_operator
    assert "no_such_operator" not in NAMESPACE.packets
