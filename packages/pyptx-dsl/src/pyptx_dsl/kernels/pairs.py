"""Checked pair of a forward kernel and its backward kernel, for runtimes that support differentiation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar, cast

from pyptx_dsl.errors import ArgumentCountError, KernelError, KeywordError
from pyptx_dsl.kernels.differentiable import name_of
from pyptx_dsl.registers.operands import as_count, as_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.differentiable import Backward
    from pyptx_dsl.kernels.kernel import Kernel

ArrayT = TypeVar("ArrayT")

_WORDS: Final = frozenset({"save_for_backward", "save_outputs", "num_grad_inputs"})


@dataclass(frozen=True, slots=True)
class KernelPair:
    """A forward kernel and its backward, which is a kernel, or a function that calls several kernels.

    `inputs` and `outputs` are the indices of the arrays that are saved for the backward, which returns the gradients of
    the first `gradients` inputs. `keywords` are the keywords of a call that the backward accepts.
    """

    forward: Kernel
    backward: Backward
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    gradients: int
    keywords: frozenset[str]

    def saved(self, inputs: Sequence[ArrayT], outputs: Sequence[ArrayT]) -> list[ArrayT]:
        """Return the arrays of a forward call that the backward kernel needs, in the order of its parameters."""
        return [*(inputs[at] for at in self.inputs), *(outputs[at] for at in self.outputs)]

    def run_backward(self, arrays: Sequence[object], keywords: Mapping[str, object]) -> object:
        """Call the backward kernel on the saved arrays and the output gradients, with the keywords that it accepts."""
        own = {name: value for name, value in keywords.items() if name in self.keywords}
        return cast("Callable[..., object]", self.backward)(*arrays, **own)

    def check_returned(self, count: int) -> None:
        """Raise ArgumentCountError unless the backward kernel returned `gradients` results."""
        if count != self.gradients:
            raise ArgumentCountError(
                f"{name_of(self.backward)} returns {count} gradients, expected {self.gradients} (one per "
                "differentiable input)",
                help="pass num_grad_inputs, the number of inputs with gradients",
            )


def pair_of(forward: Kernel, backward: Backward, keywords: Mapping[str, object], arrays: str) -> KernelPair:
    """Return the checked pair for keywords of `differentiable_kernel`; messages call arrays by the word `arrays`.

    `save_for_backward` are the indices of the inputs to save, all by default; `save_outputs` those of the outputs, none
    by default; `num_grad_inputs` is the number of inputs with gradients, all by default. Raises KeywordError for
    invalid keywords, KernelError for a kernel that writes to its inputs, and ArgumentCountError for incompatible
    kernels.
    """
    declared = forward.declaration
    count = len(declared.tensors) - len(declared.out_specs)
    given, number = keywords.get("save_for_backward"), keywords.get("num_grad_inputs")
    inputs = _indices(list(range(count)) if given is None else given)
    outputs = _indices(keywords.get("save_outputs", ()))
    gradients = count if number is None else as_count(number)
    if set(keywords) - _WORDS or inputs is None or outputs is None or gradients is None:
        words = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
        raise KeywordError(
            f"{forward.name}: invalid arguments of differentiable_kernel: {words}",
            help="pass indices of inputs, save_for_backward=[0, 1], of outputs, save_outputs=[0], and the number "
            "of inputs with gradients, num_grad_inputs=2",
        )
    pair = KernelPair(forward, backward, inputs, outputs, gradients, keywords_of(backward))
    _check_writes(pair)
    _check_indices(pair, count)
    _check_backward(pair, arrays)
    return pair


def _indices(given: object) -> tuple[int, ...] | None:
    items = as_items(given)
    found = [as_count(item) for item in items or ()]
    return None if items is None or None in found else tuple(index for index in found if index is not None)


def declaration_of(backward: Backward) -> Declaration | None:
    """Return the declaration of a backward kernel; None for a function."""
    from pyptx_dsl.kernels.kernel import Kernel

    return cast("Kernel", backward).declaration if isinstance(backward, Kernel) else None


def keywords_of(backward: Backward) -> frozenset[str]:
    """Return the keywords of a backward kernel, or the names of a function's keyword-only parameters."""
    declaration = declaration_of(backward)
    if declaration is not None:
        return declaration.keywords
    from inspect import Parameter, signature

    rows = signature(cast("Callable[..., object]", backward)).parameters.values()
    return frozenset(row.name for row in rows if row.kind is Parameter.KEYWORD_ONLY)


def _check_writes(pair: KernelPair) -> None:
    for declaration in filter(None, (pair.forward.declaration, declaration_of(pair.backward))):
        if declaration.mutated:
            raise KernelError(
                f"{declaration.name} writes to its inputs, which is not differentiable",
                help="write to an output instead: add it to out_specs",
            )


def _check_indices(pair: KernelPair, inputs: int) -> None:
    name, outputs = pair.forward.name, len(pair.forward.out_specs)
    fits = all(0 <= at < inputs for at in pair.inputs) and all(0 <= at < outputs for at in pair.outputs)
    if not (fits and 0 <= pair.gradients <= inputs):
        raise ArgumentCountError(
            f"out of range for {name} (inputs: {inputs}, outputs: {outputs}): "
            f"save_for_backward={list(pair.inputs)}, save_outputs={list(pair.outputs)}, "
            f"num_grad_inputs={pair.gradients}",
            help="count indices from 0; num_grad_inputs is at most the number of inputs",
        )


def _check_backward(pair: KernelPair, arrays: str) -> None:
    """Raise ArgumentCountError unless a backward kernel has the right number of inputs and outputs."""
    backward = declaration_of(pair.backward)
    if backward is None:
        return
    saved, outputs = len(pair.inputs) + len(pair.outputs), len(pair.forward.out_specs)
    takes, returns = saved + outputs, len(backward.out_specs)
    if takes != len(backward.in_specs) or returns != pair.gradients:
        raise ArgumentCountError(
            f"{backward.name} must take {takes} {arrays} ({saved} saved, and a gradient for each of {outputs} "
            f"outputs) and return {pair.gradients}; it takes {len(backward.in_specs)} and returns {returns}",
            help="set save_for_backward (inputs to save), save_outputs (outputs to save) and num_grad_inputs "
            "(number of inputs with gradients)",
        )
