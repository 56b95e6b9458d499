"""The table of element types and its NumPy, torch and jax arrays: the bits of inputs and outputs are the same."""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg, types
from pyptx_ir.element_types import BY_ARRAY, BY_NAME, ELEMENT_TYPES, UNTYPED, takes
from pyptx_launch import Signature
from pyptx_launch.tensor_map_rules import TYPES as MAPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_dsl.kernels.kernel import Kernel

COUNT = 64
LACKING = {"numpy": {"float4_e2m1fn_x2"}, "torch": set[str](), "jax": {"float4_e2m1fn_x2"}}
"""Element types for which a framework has no arrays, by framework."""


@dataclass(frozen=True, slots=True)
class Framework:
    """Functions that make an array of a framework from bits, and return the bits of an array."""

    make: Callable[[Any, str], Any]
    show: Callable[[Any], Any]


def numpy_type(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def of_torch() -> Framework:
    import torch

    def make(raw: Any, name: str) -> Any:
        return torch.from_numpy(raw.copy()).view(getattr(torch, name))

    return Framework(make, lambda array: array.view(torch.uint8).numpy())


def of_jax() -> Framework:
    import jax.numpy as jnp

    return Framework(
        lambda raw, name: jnp.asarray(raw.view(jnp.dtype(name))), lambda array: np.asarray(array).view("u1")
    )


MAKERS: dict[str, Callable[[], Framework]] = {
    "numpy": lambda: Framework(lambda raw, name: raw.copy().view(numpy_type(name)), lambda array: array.view("u1")),
    "torch": of_torch,
    "jax": of_jax,
}
FRAMEWORKS = [
    pytest.param(name, marks=[getattr(pytest.mark, name)] if name != "numpy" else [], id=name) for name in MAKERS
]
BY_ROW = pytest.mark.parametrize("row", ELEMENT_TYPES, ids=lambda row: f"{row.name}-{row.array}")
EVERYWHERE = pytest.mark.parametrize("framework", FRAMEWORKS)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    with wide():
        yield


def wide() -> Any:
    """Return a context manager that enables 64-bit types in jax, if jax is imported."""
    import sys

    return sys.modules["jax"].enable_x64(True) if "jax" in sys.modules else nullcontext()  # noqa: FBT003  jax's own


def bits_of(row: Any) -> Any:
    """Return random bytes for elements of a type; for bool, each byte is 0 or 1."""
    most = 2 if row.array == "bool" else 256
    return np.random.default_rng(7).integers(0, most, COUNT * row.bytes, np.uint8)


@cache
def copy_of(name: str) -> Kernel[Any]:
    """Return the kernel y = x for a type; it copies elements as bits."""
    dtype = types.from_name(name)
    tile, word = Tile(COUNT, dtype), f"b{dtype.bits}"

    @kernel(in_specs=(tile,), out_specs=(tile,), grid=1, block=COUNT, arch="sm_90")
    def copy(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), types.u32) * dtype.bytes
        value = reg.scalar({8: types.b16, 16: types.b16, 32: types.b32, 64: types.b64}[dtype.bits])
        getattr(ptx.inst.ld.global_, word)(value, ptx.addr(x + at))
        getattr(ptx.inst.st.global_, word)(ptx.addr(y + at), value)
        ptx.ret()

    return copy


def name_of(array: Any) -> str:
    return str(array.dtype).rpartition(".")[2]


@EVERYWHERE
@BY_ROW
def test_elements_pass_bit_by_bit_and_outputs_are_allocated_as_the_row_says(row: Any, framework: str) -> None:
    if row.array in LACKING[framework]:
        with pytest.raises((TypeError, AttributeError)):
            MAKERS[framework]().make(bits_of(row), row.array)
        return
    arrays, raw = MAKERS[framework](), bits_of(row)
    with wide():
        y = copy_of(row.name)(arrays.make(raw, row.array))
        assert name_of(y) == BY_NAME[row.name].array
        np.testing.assert_array_equal(arrays.show(y), raw)


@EVERYWHERE
@pytest.mark.parametrize("bits", UNTYPED)
def test_untyped_bits_take_every_type_of_their_width_and_come_back_unsigned(bits: str, framework: str) -> None:
    arrays, wanted = MAKERS[framework](), f"uint{UNTYPED[bits].bits}"
    taken = [row for row in ELEMENT_TYPES if takes(bits, row.name) and row.array not in LACKING[framework]]
    assert {row.bits for row in taken} == {UNTYPED[bits].bits}
    for row in taken:
        raw = bits_of(row)
        with wide():
            y = copy_of(bits)(arrays.make(raw, row.array))
            assert name_of(y) == wanted
            np.testing.assert_array_equal(arrays.show(y), raw)


@pytest.mark.parametrize("framework", FRAMEWORKS[:2])
@BY_ROW
def test_out_takes_its_own_type_and_for_untyped_bits_any_of_their_width(row: Any, framework: str) -> None:
    if row.array in LACKING[framework]:
        return
    arrays, raw = MAKERS[framework](), bits_of(row)
    for name in {row.name, f"b{row.bits}"}:
        out = arrays.make(np.zeros_like(raw), row.array)
        x = arrays.make(raw, BY_NAME[name].array)
        if row.array == "bool" and name == "u8":  # arbitrary bytes are not valid bools
            with pytest.raises(Exception, match="out= for Y"):
                copy_of(name)(x, out=out)
            continue
        assert copy_of(name)(x, out=out) is out
        np.testing.assert_array_equal(arrays.show(out), raw)


class DLTensor(ctypes.Structure):
    """Beginning of DLPack 1.1's `DLTensor`, up to its element type."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


@EVERYWHERE
@BY_ROW
def test_the_table_has_what_frameworks_tell_by_dlpack(row: Any, framework: str) -> None:
    # NumPy cannot export arrays of ml_dtypes types through DLPack.
    if row.array in LACKING[framework] or (framework == "numpy" and hasattr(ml_dtypes, row.array)):
        return
    with wide():
        capsule = MAKERS[framework]().make(bits_of(row), row.array).__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    told = DLTensor.from_address(pointer(capsule, b"dltensor"))
    assert (told.code, told.bits, told.lanes) == row.dlpack


@BY_ROW
def test_packages_below_the_table_agree_with_it(row: Any) -> None:
    name = "bool" if row.array == "bool" else row.name
    code, bits, lanes = row.dlpack
    if row.kind != "bits" and row.name != "tf32":  # no array framework has elements of b8 to b64 or tf32
        assert Signature((COUNT,), dtype=name).words[1] == 1 << 32 | lanes << 16 | bits << 8 | code
    if row.tensor_map is None:
        assert row.name not in MAPPED
    else:
        assert (MAPPED[row.name].number, MAPPED[row.name].bits) == (row.tensor_map, row.bits)


def test_every_array_type_has_one_name_in_ptx() -> None:
    assert {BY_ARRAY[row.array].name for row in ELEMENT_TYPES} == {
        row.name for row in ELEMENT_TYPES if row.kind != "bits" and row.name != "tf32"
    }
    assert {name: row.array for name, row in UNTYPED.items()} == {f"b{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}


@pytest.mark.torch
@pytest.mark.parametrize("bits", UNTYPED)
def test_unsigned_outputs_pass_compiled_graphs_and_vmap(bits: str) -> None:
    import torch

    row, copy = UNTYPED[bits], copy_of(bits)
    x = of_torch().make(bits_of(row), row.array)
    compiled = torch.compile(lambda x: copy(x).view(x.dtype), fullgraph=True, backend="aot_eager")
    for function, given in ((compiled, x), (torch.vmap(copy), torch.stack([x, x]))):
        y = function(given)
        assert y.dtype == x.dtype
        assert torch.equal(y, given)
