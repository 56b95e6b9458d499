"""An access of a float type to an array of another float type is a note, unless the access may be correct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import DeviceArray, Memory, Uninitialized, run

from .ptx_text import execute, module

BITS = {"f16": "b16", "f32": "f32", "f64": "f64", "bf16": "b16"}
REGISTERS = {"f16": "%h", "bf16": "%h", "f32": "%f", "f64": "%fd"}
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
FLOATS = [(instruction, elements) for instruction in ("f32", "f64") for elements in DTYPES]
OUT = "mov.u32 %r9, 1; st.global.u32 [%rd0], %r9;"
BODIES = {
    "ld": "ld.global.{type} {register}1, [%rd2];",
    "generic ld": "ld.{type} {register}1, [%rd2];",
    "volatile ld": "ld.volatile.global.{type} {register}1, [%rd2];",
    "st": "mov.{type} {register}1, 1.0; st.global.{type} [%rd2], {register}1;",
    "red": "mov.{type} {register}1, 1.0; red.global.add.{type} [%rd2], {register}1;",
}


def findings(body: str, array: Any, **options: Any) -> list[Any]:
    """Return the findings of one thread that runs a kernel body with the address of `array` in %rd2."""
    parameters = ".param .u64 out, .param .u64 x"
    text = f"ld.param.u64 %rd2, [x];\n{body}\n{OUT}"
    return list(execute(text, np.zeros(4, np.uint32), array, parameters=parameters, block=1, **options).findings)


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize(("kind", "elements"), FLOATS)
@pytest.mark.parametrize("body", list(BODIES))
def test_a_scalar_access_of_another_float_type_is_one_note(body: str, kind: str, elements: str, seed: int) -> None:
    text = BODIES[body].format(type=kind, register=REGISTERS[kind])
    found = findings(text, np.zeros(64, DTYPES[elements]), seed=seed)
    if kind == elements:
        assert found == []
        return
    (note,) = found
    assert (note.rule, note.severity) == ("element-type", "note")
    assert f"argument 1 'x'+0, an array of {elements} elements" in note.message


@pytest.mark.parametrize(
    "body",
    [
        "ld.global.u32 %r1, [%rd2];",
        "ld.global.b16 %h1, [%rd2];",
        "ld.global.b64 %rd3, [%rd2];",
        "ld.global.v2.f32 {%f1, %f2}, [%rd2];",
        "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];",
        "red.global.add.noftz.f16x2 [%rd2], %r9;",
    ],
)
@pytest.mark.parametrize("elements", ["f16", "f64"])
def test_bits_integers_and_vectors_may_move_any_elements(body: str, elements: str) -> None:
    assert findings(f"mov.u32 %r9, 0; {body}", np.zeros(64, DTYPES[elements])) == []


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint64, np.complex64, np.bool_])
def test_arrays_of_integers_may_hold_floats(dtype: Any) -> None:
    assert findings("ld.global.f32 %f1, [%rd2];", np.zeros(64, dtype)) == []


def test_other_arrays_of_the_launch_are_told_apart() -> None:
    parameters = ".param .u64 h, .param .u64 f, .param .u64 d"
    body = """
    ld.param.u64 %rd2, [f]; ld.param.u64 %rd3, [d];
    ld.global.f32 %f1, [%rd2]; ld.global.f64 %fd1, [%rd3]; cvt.f64.f32 %fd2, %f1; st.global.f64 [%rd3+8], %fd2;
    """
    arrays = [np.zeros(32, DTYPES[each]) for each in ("f16", "f32", "f64")]
    assert execute(body, *arrays, parameters=parameters, block=1).findings == ()
    wrong = body.replace("ld.global.f32 %f1, [%rd2]", "ld.global.f32 %f1, [%rd3]")
    (note,) = execute(wrong, *arrays, parameters=parameters, block=1).findings
    assert "argument 2 'd'" in note.message


def test_views_of_several_types_of_one_buffer_are_left_alone() -> None:
    buffer = np.zeros(64, np.float32)
    parameters = ".param .u64 f, .param .u64 h"
    body = "ld.param.u64 %rd2, [h]; ld.global.f32 %f1, [%rd2];"
    assert execute(body, buffer, buffer.view(np.float16), parameters=parameters, block=1).findings == ()


@pytest.mark.parametrize("how", ["an output", "a device array"])
def test_arrays_are_compared_however_they_are_passed(how: str) -> None:
    array: Uninitialized | DeviceArray = Uninitialized(np.zeros(32, np.float16))
    if how == "a device array":
        array = Memory().put(np.zeros(32, np.float16))
    body = "mov.f32 %f1, 0f3F800000; st.global.f32 [%rd0], %f1;"
    (note,) = run(module(body), grid=1, block=1, args=[array]).findings
    assert note.rule == "element-type"


@pytest.mark.torch
def test_a_tensor_of_torch_tells_its_own_element_type() -> None:
    import torch

    body = "ld.global.f32 %f1, [%rd0];"
    (note,) = run(module(body), grid=1, block=1, args=[torch.zeros(32, dtype=torch.bfloat16)]).findings
    assert "bf16" in note.message


def test_it_can_be_switched_off() -> None:
    assert findings("ld.global.f32 %f1, [%rd2];", np.zeros(64, np.float16), checks=["out-of-bounds"]) == []
