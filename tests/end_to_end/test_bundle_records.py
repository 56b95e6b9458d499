"""JSON records of specializations round-trip for every example; any other record is refused."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx import Tile, kernel, ptx
from pyptx_bundles import BundleError, record, restore
from pyptx_dsl.types import f32
from pyptx_ir.plugins.rows import Argument

from .gallery import EXAMPLE_LIST, Example

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.plugins.rows import Specialization


def argument(array: np.ndarray[Any, Any]) -> Argument:
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return Argument(array.shape, {"float32": "f32", "float64": "f64"}[array.dtype.name], strides)


def specialize(example: Example) -> Specialization:
    special: Specialization = example.launch().specialize(
        [argument(array) for array in example.inputs(np.random.default_rng(0))], {}
    )
    return special


@kernel(
    in_specs=(Tile("M", 64, f32, tma_box=(8, 32)),),
    out_specs=(Tile("M", f32),),
    raw_params=[("f32", "alpha"), ("u64", "n"), ("s32", "shift")],
    cluster=(2, 1, 1),
    grid=(4, 1, 1),
    block=(128, 1, 1),
    smem=1024,
    launch={"cooperative": True, "priority": -1},
)
def everything(X, Y):  # noqa: ARG001  the entry takes it
    """Kernel with a tensor map, scalars, a cluster launch and launch attributes."""
    X.tma_desc()
    ptx.ret()


def full() -> Specialization:
    return everything.specialize([Argument((16, 64), "f32", (64, 1))], {"alpha": 0.1, "n": 2**64 - 1, "shift": -3})


def through_json(special: Specialization) -> Specialization:
    return restore(json.loads(json.dumps(record(special), allow_nan=False)))


@pytest.mark.parametrize("example", EXAMPLE_LIST, ids=lambda example: example.file)
def test_a_specialization_comes_back_equal(example: Example) -> None:
    special = specialize(example)
    assert special.inputs
    restored = through_json(special)
    assert restored == special
    assert record(restored) == record(special)


@given(
    alpha=st.floats(allow_nan=False),
    n=st.integers(0, 2**64 - 1),
    grid=st.integers(1, 2**20),
    attribute=st.binary(max_size=64),
    persistent=st.integers(0, 64),
)
def test_every_value_comes_back_exactly(alpha: float, n: int, grid: int, attribute: bytes, persistent: int) -> None:
    rows = [replace(row, value={"alpha": alpha, "n": n}.get(row.name, row.value)) for row in full().parameters]
    launch = {"grid": (2 * grid, 1, 1), "attributes": ((7, attribute),), "persistent": persistent}
    special = replace(full(), parameters=tuple(rows), **launch)
    assert through_json(special) == special


def test_a_value_that_is_no_number_stays_none() -> None:
    rows = [replace(row, value=math.nan) if row.name == "alpha" else row for row in full().parameters]
    (value,) = [
        row.value for row in through_json(replace(full(), parameters=tuple(rows))).parameters if row.name == "alpha"
    ]
    assert value is not None
    assert math.isnan(value)


def text(change: Callable[[str], str]) -> Callable[[dict[str, Any]], None]:
    def apply(plain: dict[str, Any]) -> None:
        plain["text"] = change(plain["text"])

    return apply


def put(value: object, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def apply(plain: dict[str, Any]) -> None:
        inner: Any = plain
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value

    return apply


def without(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def apply(plain: dict[str, Any]) -> None:
        inner: Any = plain
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]

    return apply


MAP = ("parameters", 5, "descriptor", "tensor_map")
# Changes of the specialization record of kernel `everything`, each with the expected error message.
WRONG: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a member of the record is missing": (without("grid"), "missing members: grid"),
    "the record has an unknown member": (put(1, "extra"), "unknown member 'extra'"),
    "the entry's name is invalid": (put("a b", "entry"), "record.entry is 'a b'"),
    "the entry's name is too long": (put("a" * 5000, "entry"), "5000 characters"),
    "the entry's name is a number": (put(7, "entry"), "expected a string"),
    "the PTX text lacks the entry": (put("other", "entry"), "defines 0 entries named other"),
    "the PTX text defines the entry twice": (text(lambda ptx: ptx + ptx[ptx.index(".visible") :]), "defines 2 entries"),
    "the entry has no body": (text(lambda ptx: ptx[: ptx.index("{")] + ";"), "defines 1 entries"),
    "the PTX text has a syntax error": (text(lambda ptx: ptx + "}"), "the text is not valid PTX"),
    "the PTX text nests braces too deeply": (
        text(lambda ptx: ptx.replace("ret;", "{" * 20000)), "nest too deeply|not valid PTX"
    ),
    "the PTX text contains a NUL": (text(lambda ptx: ptx + "\0"), "a NUL"),
    "the PTX text contains an unpaired surrogate": (text(lambda ptx: ptx + "//\ud800"), "unpaired surrogate"),
    "the PTX text is for another target": (
        text(lambda ptx: ptx.replace("sm_90a", "sm_80")), "text is for target sm_80"
    ),
    "the PTX text has no .target directive": (
        text(lambda ptx: ptx.replace(".target sm_90a", "")), "text is for target nothing"
    ),
    "the target is unknown": (put("sm_91", "target"), "sm_91"),
    "the grid is too large": (put([2**31, 1, 1], "grid"), r"record.grid\[0\] is 2147483648"),
    "the grid is empty": (put([0, 1, 1], "grid"), "expected 1 to"),
    "the grid has two dimensions instead of three": (put([4, 1], "grid"), "has 2 items"),
    "a size of the grid is a float": (put([4.0, 1, 1], "grid"), "expected an integer"),
    "a size of the grid is a bool": (put([True, 1, 1], "grid"), "expected an integer"),
    "a size of the grid is 10^400": (put([10**400, 1, 1], "grid"), "an integer of more than 64 bits"),
    "the cluster size does not divide the grid": (put([3, 1, 1], "grid"), "not a multiple of the cluster size 2"),
    "the block is too large": (put([1024, 2, 1], "block"), "2048 threads"),
    "the cluster is too large": (put([32, 1, 1], "cluster"), "32 CTAs"),
    "the shared memory is too large": (put(300_000, "shared_bytes"), "expected 0 to 232448"),
    "a parameter is missing": (without("parameters", 4), "has 6 parameters in the PTX text and 5"),
    "a parameter's name is not the declared one": (put("Z", "parameters", 0, "name"), "does not match its declaration"),
    "a parameter's type is not the declared one": (
        put("s64", "parameters", 3, "type"), "expected -9223|not match its declaration"
    ),
    "a pointer parameter has type f32": (put("f32", "parameters", 0, "type"), "does not match its declaration"),
    "a parameter's type is unknown": (put("q32", "parameters", 2, "type"), "expected one of"),
    "a parameter's kind is unknown": (put("magic", "parameters", 2, "kind"), "tensor, scalar, descriptor"),
    "a scalar's value is out of range": (
        put(2**64, "parameters", 3, "value"), "integer of more than 64 bits: expected 0 to"
    ),
    "a scalar's value is a string": (
        put("0x1", "parameters", 2, "value"), "the string is empty or has invalid characters"
    ),
    "a pointer parameter has a scalar value": (put(1, "parameters", 0, "value"), "only a scalar has a value"),
    "a scalar parameter has a tensor index": (put(0, "parameters", 2, "index"), "a scalar has no tensor index"),
    "a pointer has an array index out of range": (
        put(5, "parameters", 1, "index"), "array indices .0, 5., expected 0 to 1"
    ),
    "a tensor map has an array index out of range": (
        put(2, "parameters", 5, "index"), "has array index 2, but there are 2 arrays"
    ),
    "a descriptor parameter lacks its tensor map": (
        put(None, "parameters", 5, "descriptor"), "has no description of its array"
    ),
    "a pointer parameter has a descriptor": (
        put({}, "parameters", 0, "descriptor"), "only a parameter of kind descriptor"
    ),
    "a tensor map's box has another rank than its shape": (put([1], *MAP, "box"), "differ in length"),
    "a tensor map has an unknown swizzle": (put("8B", *MAP, "swizzle"), "expected one of none, 32B"),
    "a descriptor has no kind": (put({}, *MAP[:-1]), "missing description"),
    "a descriptor has two kinds": (put({"a": 1, "b": 2}, *MAP[:-1]), "has 2 members, the maximum is 1"),
    "a descriptor's kind is unknown": (put({"moon": 1}, *MAP[:-1]), "plugin provides the descriptor m"),
    "a descriptor's kind is not an identifier": (put({"a b": 1}, *MAP[:-1]), "is empty or has invalid characters"),
    "an array is not dense": (put([65, 1], "inputs", 0, "strides"), "is not dense"),
    "an array exceeds the address range": (put([2**40, 2**40], "inputs", 0, "shape"), "the range of device addresses"),
    "an array is empty": (put([0, 64], "inputs", 0, "shape"), "expected 1 to"),
    "an array's alignment is not a power of two": (put(3, "inputs", 0, "alignment"), "power of two"),
    "two arrays share a name": (put("X", "outputs", 0, "name"), "duplicate array name X"),
    "an output's index is listed as a mutated input": (put([1], "mutated"), "increasing input indices below 1"),
    "a launch attribute's value is too long": (put([[2, "00" * 65]], "attributes"), "130 characters"),
    "a launch attribute's value is not hexadecimal": (
        put([[2, "0g"]], "attributes"), "is empty or has invalid characters"
    ),
    "a launch attribute is listed twice": (
        put([[2, "00"], [2, "01"]], "attributes"), "launch attributes must increase"
    ),
    "a launch attribute lacks its value": (put([[2]], "attributes"), "has 1 items"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_field_that_is_wrong_is_named(name: str) -> None:
    change, message = WRONG[name]
    plain = copy.deepcopy(record(full()))
    change(plain)
    with pytest.raises(BundleError, match=message):
        restore(plain)


@pytest.mark.parametrize("value", [None, 1, "x", [], math.nan])
def test_what_is_no_record_is_refused(value: object) -> None:
    with pytest.raises(BundleError, match="expected an object"):
        restore(value)
