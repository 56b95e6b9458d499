"""`pyptx_sim.Memory`: arrays with addresses before a launch, which outlive it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx_sim import DeviceArray, Launch, Memory, Uninitialized, run
from pyptx_sim.errors import LaunchError

from .ptx_text import execute, module

# Thread t loads the word at pointer t of a list and stores it to out[t].
FOLLOW = """
ld.param.u64 %rd2, [pointers];
mad.wide.u32 %rd3, %r0, 8, %rd2;
ld.global.u64 %rd4, [%rd3];
ld.global.u32 %r1, [%rd4];
st.global.u32 [%rd1], %r1;
"""
PARAMETERS = ".param .u64 out, .param .u64 pointers"
DOUBLE = "ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, %r1; st.global.u32 [%rd1], %r1;"


def follow(out: Any, pointers: Any, **options: Any) -> Any:
    block = len(pointers.array if isinstance(pointers, DeviceArray) else pointers)
    return execute(FOLLOW, out, pointers, parameters=PARAMETERS, block=block, **options)


def test_addresses_in_an_array_lead_to_the_arrays_of_a_memory() -> None:
    memory = Memory()
    arrays = [memory.put(np.full(size, 7 * size, np.uint32)) for size in (1, 100, 5)]
    out = np.zeros(3, np.uint32)
    assert follow(out, np.array([array.address for array in arrays], np.uint64), memory=memory).findings == ()
    assert out.tolist() == [7, 700, 35]


def test_an_address_may_be_that_of_an_element() -> None:
    memory = Memory()
    table = memory.put(np.arange(144, dtype=np.uint32).reshape(12, 3, 4)[::6, :, :], "table")
    places = [(0, 0, 0), (1, 2, 3), (1, 0), (1,), ()]
    out, pointers = np.zeros(5, np.uint32), memory.put(np.array([table.address_of(*at) for at in places], np.uint64))
    assert follow(memory.put(out), memory.put(pointers.array)).findings == ()
    assert out.tolist() == [np.ravel(table.array[at])[0] for at in places]
    for wrong in ((2,), (0, 0, 4), (-1,), (0, 0, 0, 0)):
        with pytest.raises(IndexError, match=r"invalid index .* of table: shape is \(2, 3, 4\)"):
            table.address_of(*wrong)


def test_an_access_past_an_array_of_a_memory_names_it() -> None:
    memory = Memory()
    weights = memory.put(np.zeros(2, np.uint32), "weights")
    out = np.zeros(3, np.uint32)
    pointers = np.array([weights.address + 4 * number for number in range(3)], np.uint64)
    (finding,) = follow(out, pointers, memory=memory).findings
    assert finding.rule == "out-of-bounds"
    assert "0 bytes after 'weights' (8 bytes)" in finding.message


def test_what_nothing_has_written_is_found_until_a_launch_writes_it() -> None:
    memory = Memory()
    scratch = memory.empty(32, np.uint32, "scratch")
    result = execute(DOUBLE, scratch)
    assert [finding.rule for finding in result.findings] == ["uninitialized-memory"]
    assert "'scratch'" in result.findings[0].message
    assert execute("add.u32 %r2, %r0, 1; st.global.u32 [%rd1], %r2;", memory.empty(4, np.uint32), block=4).clean
    fresh = memory.empty(32, np.uint32, "fresh")
    assert execute("st.global.u32 [%rd1], %r0;", fresh, block=16).clean
    assert execute(DOUBLE, fresh, block=16).clean
    assert [finding.rule for finding in execute(DOUBLE, fresh, block=17).findings] == ["uninitialized-memory"]


def test_launches_without_checks_are_taken_to_have_written_all() -> None:
    fresh = Memory().empty(32, np.uint32)
    execute("st.global.u32 [%rd1], %r0;", fresh, checks="none")
    assert execute(DOUBLE, fresh).clean
    assert fresh.array.tolist() == [2 * number for number in range(32)]


def test_launches_see_what_those_before_have_written_and_the_host_too() -> None:
    memory = Memory()
    x = memory.put(np.arange(32, dtype=np.uint32))
    launch = Launch(grid=1, block=32, args=[x])
    for _ in range(3):
        assert run(module(DOUBLE), launch).clean
    assert x.array.tolist() == [8 * number for number in range(32)]
    x.array[:] = 5
    assert run(module(DOUBLE), launch).clean
    assert set(x.array.tolist()) == {10}


def test_an_array_that_lies_in_the_memory_has_its_place_there() -> None:
    memory = Memory()
    x = memory.put(np.arange(4, dtype=np.uint32))
    assert memory.put(x.array).address == x.address
    out = np.zeros(4, np.uint32)
    parameters = ".param .u64 out, .param .u64 x"
    execute("ld.param.u64 %rd2, [x]; st.global.u64 [%rd0], %rd2;", out, x.array, parameters=parameters, memory=memory)
    assert int(out.view(np.uint64)[0]) == x.address


def test_arrays_of_two_memories_in_one_launch_are_an_error() -> None:
    one, other = (Memory().put(np.zeros(32, np.uint32)) for _ in range(2))
    given: list[tuple[Any, dict[str, Any]]] = [((one, other), {}), ((one, np.zeros(3)), {"memory": other.memory})]
    for arguments, options in given:
        with pytest.raises(LaunchError, match="several Memory objects"):
            follow(*arguments, **options)


def test_variables_of_a_module_have_their_place_below_the_memory() -> None:
    variables = ".global .align 4 .b8 big[4096];\n.global .u32 answer = 42;"
    body = "ld.global.u32 %r1, [answer]; st.global.u32 [%rd1], %r1;"
    out = Memory().put(np.zeros(32, np.uint32))
    assert execute(body, out, before=variables).clean
    assert set(out.array.tolist()) == {42}
    with pytest.raises(LaunchError, match=r"the memory has module_bytes=1024(.|\n)*Memory\(module_bytes="):
        execute(body, Memory(module_bytes=1024).put(np.zeros(32, np.uint32)), before=variables)


def test_what_a_memory_cannot_hold_is_an_error() -> None:
    with pytest.raises(LaunchError, match="dtype >f4"):
        Memory().put(np.zeros(3, ">f4"))
    readonly = Memory().put(np.frombuffer(bytes(128), np.uint32), "weights")
    with pytest.raises(LaunchError, match="wrote to read-only array weights"):
        execute("add.u32 %r1, %r0, 1; st.global.u32 [%rd1], %r1;", readonly)


def test_a_dry_run_leaves_a_memory_as_it_was() -> None:
    x = Memory().put(np.ones(32, np.uint32))
    execute(DOUBLE, x, keep_arrays=True)
    assert set(x.array.tolist()) == {1}
    assert Uninitialized(x.array).array is x.array


@pytest.mark.torch
def test_tensors_of_torch_are_arrays_too() -> None:
    import torch

    memory, tensor = Memory(), torch.arange(32, dtype=torch.int32)
    placed = memory.put(tensor)
    for given in (tensor, placed, memory.put(tensor)):
        assert execute(DOUBLE, given, memory=memory).clean
    assert tensor.tolist() == [8 * number for number in range(32)]
    halves = torch.ones(32, dtype=torch.bfloat16)
    assert execute(DOUBLE.replace("u32", "u16").replace("%r1", "%h1"), halves, block=16).clean


@pytest.mark.torch
def test_a_tensor_without_memory_is_refused() -> None:
    """The tensor's storage is freed, as by FSDP; the address of a view of it is nonzero, the view's offset."""
    import torch

    tensor = torch.ones(64, dtype=torch.int32)
    view = tensor[8:]
    tensor.untyped_storage().resize_(0)
    for freed in (tensor, view):
        with pytest.raises(LaunchError, match="tensor has no memory"):
            execute("ld.global.u32 %r1, [%rd0];", freed)
    execute("mov.u32 %r1, 0;", torch.ones(0, dtype=torch.int32))
