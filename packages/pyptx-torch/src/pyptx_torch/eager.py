"""The short way of an eager call: from `Kernel.__call__` straight to pyptx_launch's launcher.

What the launcher does not know, it hands to the long way, which checks everything and teaches it. What torch wants of
whoever writes to a tensor, and what a launcher cannot see, is done here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from pyptx_dsl.operands import as_items
from pyptx_torch.cuda import run
from pyptx_torch.internals import HAS_EXCHANGE_API, is_busy
from pyptx_torch.operators import operator_of
from pyptx_torch.places import CUDA
from pyptx_torch.versions import count_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pyptx_ir.plugins.rows import Launchable
    from pyptx_torch.operators import Operator
    from pyptx_torch.places import Place

TYPES: Final = {torch.Tensor, torch.nn.Parameter}


def launcher_of(
    kernel: Launchable, miss: Callable[..., object], place: Place = CUDA, *, exchange: bool = HAS_EXCHANGE_API
) -> Callable[..., object]:
    """Return what `Kernel.__call__` goes to; `miss` itself where nothing can be launched directly.

    Without the exchange API, which older releases of torch lack, tensors are read in Python.
    """
    from pyptx_launch import driver
    from pyptx_launch.launchers import MAX_SCALARS

    operator = operator_of(kernel)
    if not operator.signature.inputs or len(operator.scalars) > MAX_SCALARS:
        return miss
    if not place.built() or not driver.available() or not place.visible():
        return miss
    plans = operator.plans(place)
    if not exchange:
        return by_address(operator, miss, place)
    plans.attach(miss)
    mutated = operator.signature.mutated

    def launch(*tensors: object, **keywords: object) -> object:
        if not mutated and not plans.single:
            out = keywords.get("out")
            if out is None:
                return plans.launcher(*tensors, **keywords)
            if type(out) is torch.Tensor and not out.requires_grad:
                result = plans.launcher(*tensors, **keywords)
                count_version(out)
                return result
        written = [*_tensors(tensors[index] for index in mutated if index < len(tensors)), *_given(keywords)]
        single = _tensors(tensors[index] for index in plans.single if index < len(tensors))
        if _needs_care(written, single):
            return miss(*tensors, **keywords)
        result = plans.launcher(*tensors, **keywords)
        for tensor in written:
            count_version(tensor)
        return result

    return launch


def by_address(operator: Operator, miss: Callable[..., object], place: Place) -> Callable[..., object]:
    """Return a launcher that reads tensors in Python, and has the same plans."""
    inputs, outputs = len(operator.signature.inputs), len(operator.signature.outputs)

    def launch(*tensors: object, **keywords: object) -> object:
        given = _given(keywords)
        numbers = {name: value for name, value in keywords.items() if name != "out"}
        known = _tensors(tensors)
        plain = len(known) == len(tensors) == inputs and all(type(each) in TYPES for each in (*known, *given))
        simple = all(name in operator.scalars and type(value) in {int, float} for name, value in numbers.items())
        if not (plain and simple and len(given) == (outputs if keywords.get("out") is not None else 0)):
            return miss(*tensors, **keywords)
        if known[0].device.type != place.type or is_busy() or _needs_care((*known, *given), (*known, *given)):
            return miss(*tensors, **keywords)
        made = run(operator, known, numbers, given or None, known[0].device, place)
        for tensor in (*(known[index] for index in operator.signature.mutated), *given):
            count_version(tensor)
        return None if not made else made[0] if len(made) == 1 else made

    return launch


def _given(keywords: Mapping[str, object]) -> Sequence[torch.Tensor]:
    """Return the tensors of `out=`; whatever else stands there, the long way complains about."""
    out = keywords.get("out")
    return _tensors(as_items(out) or [out])


def _tensors(arguments: Iterable[object]) -> list[torch.Tensor]:
    """Return those that are tensors: a kernel that torch has called may be called with arrays of another framework."""
    return [argument for argument in arguments if isinstance(argument, torch.Tensor)]


def _needs_care(written: Sequence[torch.Tensor], single: Sequence[torch.Tensor]) -> bool:
    """Tell whether a gradient would be lost by a write, or the sign of a number whose negation is pending.

    A pending negation is a bit of the tensor that DLPack does not show. Only a tensor of one element can have it and
    pass for dense: it comes from the imaginary part of a conjugate, whose elements lie two apart.
    """
    if any(tensor.requires_grad for tensor in written) and torch.is_grad_enabled():
        return True
    return any(tensor.is_neg() for tensor in single)
