"""Numba: a Python function, compiled for a signature. An array becomes at least seven parameters."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from cases import Array
from modules import Compiled, Parameters
from numba import cuda

if TYPE_CHECKING:
    from cases import Case


def compiled(case: Case, target: str) -> Compiled:
    """Compile a case's function with its signature and options."""
    warnings.simplefilter("ignore")
    options = dict(case.options)
    digits = target.removeprefix("sm_").rstrip("a")
    capability = (int(digits[:-1]), int(digits[-1]), *(["a"] if target.endswith("a") else []))
    text, _ = cuda.compile_ptx(case.kernel, options.pop("signature"), cc=capability, **options)
    parameters = Parameters()
    for argument in case.arguments.values():
        if isinstance(argument, Array):
            _array(parameters, argument)
        else:
            parameters.add(argument)
    entry = text.split(".visible .entry ")[1].split("(")[0].strip()
    return Compiled(text, entry, parameters, case.block)


def _array(parameters: Parameters, argument: Array) -> None:
    """Add an array as Numba's launcher does: owner, parent, number and size of elements, data, shape, strides."""
    values = argument.start.astype(np.dtype(argument.element))
    for number in (0, 0, values.size, values.itemsize):
        parameters.number(number, "int64")
    parameters.array(argument)
    for number in (*values.shape, *values.strides):
        parameters.number(number, "int64")
