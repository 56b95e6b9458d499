"""Structures as arguments: tuples and dicts have the layout of a C structure."""

from __future__ import annotations

import ctypes
import random
import re
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Memory, Uninitialized
from pyptx_sim.errors import LaunchError

from .ptx_text import execute

NUMBERS = {
    np.int8: ctypes.c_int8,
    np.uint16: ctypes.c_uint16,
    np.int32: ctypes.c_int32,
    np.float32: ctypes.c_float,
    np.int64: ctypes.c_int64,
    np.float64: ctypes.c_double,
    np.bool_: ctypes.c_bool,
}


def parameter_bytes(value: Any, size: int) -> bytes:
    """Return the bytes that a kernel reads in a parameter of `size` bytes."""
    body = f"""
    mov.u64 %rd2, p;
    mov.u32 %r2, 0;
    more:
    cvt.u64.u32 %rd3, %r2; add.u64 %rd4, %rd2, %rd3; ld.param.u8 %h1, [%rd4];
    add.u64 %rd5, %rd0, %rd3; st.global.u8 [%rd5], %h1;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, {size}; @%p1 bra more;
    """
    out = np.zeros(size, np.uint8)
    parameters = f".param .u64 out, .param .align 64 .b8 p[{size}]"
    assert execute(body, out, value, parameters=parameters, block=1).findings == ()
    return out.tobytes()


def drawn(random: random.Random, depth: int) -> tuple[Any, Any]:
    """Return a random structure, as a tuple and as a ctypes structure with the same values."""
    members = list[tuple[Any, Any]]()
    for _ in range(random.randint(1, 6)):
        if depth and random.random() < 0.3:
            members.append(drawn(random, depth - 1))
            continue
        kind = random.choice(list(NUMBERS))
        value = kind(random.randrange(100))
        members.append((value, NUMBERS[kind](value.item())))
    declared = [(f"m{number}", type(each)) for number, (_, each) in enumerate(members)]
    structure = type("Structure", (ctypes.Structure,), {"_fields_": declared})
    values = {f"m{number}": each for number, (_, each) in enumerate(members)}
    return tuple(value for value, _ in members), structure(*values.values())


@pytest.mark.parametrize("seed", range(40))
def test_a_tuple_is_laid_out_as_c_lays_it_out(seed: int) -> None:
    ours, theirs = drawn(random.Random(seed), 2)
    expected = bytes(theirs)
    assert parameter_bytes(ours, len(expected)) == expected
    assert parameter_bytes(theirs, len(expected)) == expected


def test_a_dict_is_laid_out_as_its_values() -> None:
    by_name = {"m": np.int32(3), "strides": [np.int64(5), np.int64(6)], "flag": np.bool_(True)}  # noqa: FBT003  a value
    assert parameter_bytes(by_name, 32) == parameter_bytes(tuple(by_name.values()), 32)


def test_a_structure_of_numpy_is_passed_as_it_lies() -> None:
    dtype = np.dtype([("n", np.int8), ("x", np.float64), ("s", np.uint16, (3,))], align=True)
    value = np.array((3, 2.5, [1, 2, 3]), dtype)
    assert parameter_bytes(value, dtype.itemsize) == parameter_bytes(value[()], dtype.itemsize) == value.tobytes()
    assert parameter_bytes((np.int8(1), value), 32) == b"\1" + bytes(7) + value.tobytes()


LOAD = """
ld.param.u64 %rd2, [p+8]; mad.wide.u32 %rd2, %r0, 4, %rd2; ld.global.u32 %r1, [%rd2];
ld.param.u32 %r2, [p+16]; add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;
"""
PARAMETERS = ".param .u64 out, .param .align 8 .b8 p[24]"


def test_an_array_in_a_structure_is_a_pointer_to_it() -> None:
    x = np.arange(32, dtype=np.uint32)
    for array in (x, Memory().put(x)):
        out = np.zeros(32, np.uint32)
        assert execute(LOAD, out, (np.int32(1), array, np.int32(7)), parameters=PARAMETERS).findings == ()
        assert out.tolist() == (x + 7).tolist()


def test_a_structure_of_ctypes_holds_addresses_of_a_memory() -> None:
    class Parameters(ctypes.Structure):
        _fields_ = (("first", ctypes.c_int), ("x", ctypes.c_void_p), ("more", ctypes.c_int))

    memory = Memory()
    x = memory.put(np.arange(32, dtype=np.uint32), "x")
    given, out = Parameters(1, x.address, 9), np.zeros(32, np.uint32)
    assert execute(LOAD, out, given, parameters=PARAMETERS, memory=memory).findings == ()
    assert out.tolist() == list(range(9, 41))
    (finding,) = execute(LOAD, np.zeros(40, np.uint32), given, parameters=PARAMETERS, memory=memory, block=33).findings
    assert "0 bytes after 'x'" in finding.message


@pytest.mark.parametrize(("composed", "called"), [(tuple, r"argument 1 'p'\[1\]"), (dict, r"argument 1 'p'\.x")])
def test_an_array_in_a_structure_is_named_by_its_member(composed: type, called: str) -> None:
    members = {"first": np.int32(1), "x": Uninitialized(np.zeros(32, np.uint32)), "more": np.int32(7)}
    value = members if composed is dict else tuple(members.values())
    (finding,) = execute(LOAD, np.zeros(32, np.uint32), value, parameters=PARAMETERS).findings
    assert finding.rule == "uninitialized-memory"
    assert re.search(called, finding.message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            (np.zeros(2), 5),
            r"argument 1 'p'\[1\]: the Python number 5 has no size(.|\n)*np\.int32\(5\) or np\.int64\(5\)",
        ),
        ((1.5,), r"'p'\[0\]: the Python number 1\.5(.|\n)*np\.float32\(1\.5\)"),
        (("x",), r"'p'\[0\]: unsupported type str"),
        ((np.zeros(2), np.int32(5)), r"p: expected 24 bytes, got 16(.|\n)*\{0: pointer, 8: int32\}"),
        (np.zeros(3), r"p: expected a structure of 24 bytes, got an array(.|\n)*a tuple of its members"),
        (7, r"p: expected a structure of 24 bytes, got 7(.|\n)*a tuple of the structure's members"),
        (bytes(23), "p: expected 24 bytes, got 23"),
        (ctypes.c_int64 * 3, "p: expected a structure of 24 bytes, got <class"),
        ((ctypes.c_int64 * 4)(), "p: expected 24 bytes, got 32"),
    ],
)
def test_structures_that_do_not_fit_are_errors(value: Any, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        execute("", np.zeros(1), value, parameters=PARAMETERS)
