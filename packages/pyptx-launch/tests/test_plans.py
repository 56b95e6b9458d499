"""Properties of plans: the driver receives the requested values, byte for byte."""

from __future__ import annotations

import struct
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx_launch import (
    DriverError,
    LaunchError,
    Map,
    MapPointer,
    Module,
    Plan,
    Pointer,
    Scalar,
    TensorMap,
    TensorMapError,
    plan_for,
)
from pyptx_launch.parameters import SCALAR_TYPES

from .images import MAP, POINTER, image, scalar

ONE = (1, 1, 1)
TILE = TensorMap.dense("f32", (64, 32), (8, 8), swizzle="32B")
FORMATS = {
    **{f"{letter}{bits}": code for letter in "bu" for bits, code in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))},
    **{f"s{bits}": code for bits, code in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
    "f16": "e",
    "f32": "f",
    "f64": "d",
}


def plan_of(*parameters, declared=None, **shape):
    """Return a plan of one CTA whose entry takes exactly these parameters."""
    told = declared or [
        {Pointer: POINTER, MapPointer: POINTER, Map: MAP}.get(type(each)) or scalar(each.type) for each in parameters
    ]
    shape = {"grid": ONE, "block": (32, 1, 1)} | shape
    return Plan(Module(image(*told)), "k", parameters=parameters, **shape)


def launched(null, plan, pointers=(), scalars=()):
    """Launch a plan, and return the parameter bytes that the driver receives."""
    plan.launch(pointers, 0, 0, scalars)
    (launch,) = null.launches()
    return launch["parameters"]


def bf16(value: float) -> bytes:
    """Return a float rounded to nearest even in bf16, through its f32 bits (exact for f32 values)."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def test_grid_block_cluster_shared_stream_and_attributes_reach_the_driver(null):
    module = Module(image(POINTER))
    attributes = ((2, struct.pack("<i", 1)), (8, struct.pack("<i", -3)))
    plan = Plan(
        module,
        "k",
        grid=(6, 4, 2),
        block=(8, 4, 2),
        cluster=(3, 2, 1),
        shared_bytes=1024,
        parameters=(Pointer(0),),
        attributes=attributes,
    )
    plan.launch((0x1230,), 77, 1)
    (launch,) = null.launches()
    assert (launch["entry"], launch["grid"], launch["block"]) == ("k", [6, 4, 2], [8, 4, 2])
    assert (launch["shared"], launch["stream"], launch["context"]) == (1024, 77, 1)
    cluster = (4, struct.pack("<3I", 3, 2, 1))
    assert launch["attributes"] == [(number, value.ljust(64, b"\0")) for number, value in (*attributes, cluster)]


def test_a_plan_without_a_cluster_has_no_attribute_for_it(null):
    plan_of().launch((), 0, 0)
    assert null.launches()[0]["attributes"] == []


@pytest.mark.parametrize("type_", sorted(set(SCALAR_TYPES) - {"bf16"}))
def test_every_scalar_type_has_its_bytes(null, type_):
    values = (0, 1, -1, 1.5, -2.25) if type_[0] == "f" else (0, 1, 100, 127) if type_[0] in "bu" else (0, -1, -128, 127)
    plan = plan_of(Scalar("u8", "before"), Scalar(type_, "x"), Scalar("u8", "after"))
    for value in values:
        wanted = [b"\1", struct.pack(f"<{FORMATS[type_]}", value), b"\2"]
        assert launched(null, plan, scalars=(1, value, 2)) == wanted


@given(value=st.floats(width=32))
def test_bf16_is_rounded_to_nearest_even(the_null_driver, value):
    the_null_driver.take()
    plan = plan_of(Scalar("bf16", "x"))
    wanted = bf16(value) if abs(value) < 3.3895e38 else None
    if value != value:
        assert launched(the_null_driver, plan, scalars=(value,))[0][1] & 0x7F == 0x7F
    elif wanted is not None:
        assert launched(the_null_driver, plan, scalars=(value,)) == [wanted]


@given(value=st.floats(-65504, 65504))
def test_f16_is_rounded_to_nearest_even(the_null_driver, value):
    the_null_driver.take()
    assert launched(the_null_driver, plan_of(Scalar("f16", "x")), scalars=(value,)) == [struct.pack("<e", value)]


@pytest.mark.parametrize(
    ("type_", "low", "high"),
    [
        *((f"u{bits}", 0, 2**bits - 1) for bits in (8, 16, 32, 64)),
        *((f"s{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)),
        *((f"b{bits}", -(2 ** (bits - 1)), 2**bits - 1) for bits in (8, 16, 32, 64)),
    ],
)
def test_integers_fit_or_are_refused(null, type_, low, high):
    plan = plan_of(Scalar(type_, "x"))
    size = SCALAR_TYPES[type_][1]
    for value in (low, low + 1, 0, high - 1, high):
        assert launched(null, plan, scalars=(value,)) == [(value % 2 ** (8 * size)).to_bytes(size, "little")]
    for value in (low - 1, high + 1, 2**70, -(2**70)):
        with pytest.raises(OverflowError, match=f"does not fit {type_}"):
            plan.launch((), 0, 0, (value,))
    assert null.launches() == []


@pytest.mark.parametrize(("type_", "value"), [("f32", 1e39), ("f16", 65520.0), ("bf16", 3.4e38)])
def test_finite_floats_that_would_become_infinite_are_refused(null, type_, value):
    plan = plan_of(Scalar(type_, "x"))
    with pytest.raises(OverflowError, match=f"does not fit {type_}"):
        plan.launch((), 0, 0, (value,))
    assert launched(null, plan, scalars=(float("inf"),))[0][-1] & 0x7F in (0x7F, 0x7C)


@pytest.mark.parametrize(("type_", "value"), [("u32", 1.5), ("f32", "1"), ("s32", None), ("f64", object())])
def test_what_is_no_number_is_refused(null, type_, value):
    plan = plan_of(Scalar(type_, "x"))
    with pytest.raises((TypeError, LaunchError)):
        plan.launch((), 0, 0, (value,))
    assert null.launches() == []


@given(indexes=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_pointers_stand_where_their_indexes_say(the_null_driver, indexes):
    the_null_driver.take()
    addresses = [0x1000 * (number + 1) for number in range(6)]
    parameters = launched(the_null_driver, plan_of(*map(Pointer, indexes)), addresses)
    assert parameters == [addresses[index].to_bytes(8, "little") for index in indexes]


def test_parameters_are_aligned_for_whoever_reads_them_in_place(null):
    plan = plan_of(Scalar("u8", "a"), Map(0, TILE), Scalar("u16", "b"), Pointer(0), Map(0, TILE), Scalar("f32", "c"))
    plan.launch((0x4000,), 0, 0, (1, 2, 3.0))
    alignments = null.launches()[0]["alignments"]
    assert all(found % wanted == 0 for found, wanted in zip(alignments, (1, 64, 2, 8, 64, 4), strict=True))


def test_a_map_by_value_is_what_the_driver_encoded_with_the_address_of_the_launch(null):
    plan = plan_of(Map(1, TILE))
    first, second = (launched(null, plan, (0, address))[0] for address in (0x1000, 0x2340))
    assert first == TILE.encode(0x1000)
    assert second == TILE.encode(0x2340)
    assert second[:8] == (0x2340).to_bytes(8, "little")
    null.take()
    plan.launch((0, 0x9990), 0, 0)
    assert null.take("cuTensorMapEncodeTiled") == [], "the cached tensor map was encoded again"


@pytest.mark.parametrize("address", [0x1008, 0x1004, 1])
def test_a_misaligned_tensor_has_no_map(null, address):
    plan = plan_of(Map(0, TILE))
    with pytest.raises(TensorMapError, match=f"must be a multiple of 16, got {address}"):
        plan.launch((address,), 0, 0)
    plan.launch((0x1000,), 0, 0)
    with pytest.raises(TensorMapError, match="multiple of 16"):
        plan.launch((address,), 0, 0)
    assert len(null.launches()) == 1


def test_scalars_come_by_name_or_in_order_and_fall_back_on_the_plan(null):
    plan = plan_of(Scalar("f32", "alpha", 0.5), Scalar("s32", "n"))
    f, i = struct.Struct("<f").pack, struct.Struct("<i").pack
    assert launched(null, plan, scalars={"n": 3}) == [f(0.5), i(3)]
    assert launched(null, plan, scalars={"n": 4, "alpha": 2}) == [f(2), i(4)]
    assert launched(null, plan, scalars=(1.5, 5)) == [f(1.5), i(5)]
    assert launched(null, plan, scalars={"n": 3}) == [f(0.5), i(3)], "a value stuck"
    with pytest.raises(LaunchError, match="unknown scalar 'beta'; known: alpha, n"):
        plan.launch((), 0, 0, {"beta": 1})
    with pytest.raises(LaunchError, match="missing value of a scalar"):
        plan.launch((), 0, 0, {"alpha": 1})
    with pytest.raises(LaunchError, match="too many scalars: expected 2, got 3"):
        plan.launch((), 0, 0, (1, 2, 3))


def test_threads_share_a_plan_and_each_launch_is_whole(null, streams):
    plan = plan_of(Pointer(0), Map(1, TILE), Scalar("u64", "n"), Pointer(1), MapPointer(0, TILE))
    start = threading.Barrier(8)
    handles = [streams.primary(thread % 2) for thread in range(8)]

    def run(thread: int) -> None:
        start.wait()
        for step in range(200):
            first = (thread * 1000 + step + 1) * 64
            plan.launch((first, first * 2), handles[thread], thread % 2, (first,))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = null.launches()
    assert len(found) == 1600
    for launch in found:
        pointer, map_, scalar_, other, _ = launch["parameters"]
        first = int.from_bytes(pointer, "little")
        thread = (first // 64 - 1) // 1000
        assert launch["stream"] == handles[thread]
        assert launch["context"] == thread % 2
        assert int.from_bytes(map_[:8], "little") == int.from_bytes(other, "little") == 2 * first
        assert map_[8:] == TILE.encode(2 * first)[8:]
        assert scalar_ == pointer


@pytest.mark.parametrize("before", [None, 0, 1])
@pytest.mark.parametrize("fails", [False, True])
def test_the_context_that_was_current_is_again(null, before, fails):
    plan = plan_of()
    null.context(before)
    if fails:
        null.fail("cuLaunchKernelEx", 1)
        with pytest.raises(DriverError):
            plan.launch((), 0, 1)
    else:
        plan.launch((), 0, 1)
        assert null.launches()[0]["context"] == 1
    assert null.current() == before


def test_shared_memory_is_raised_to_what_the_device_has_and_no_plan_lowers_it(null):
    module = Module(image())
    null.set(static_shared=1000)
    small, large, plain = (
        Plan(module, "k", grid=ONE, block=ONE, shared_bytes=count) for count in (60_000, 200_000, 40_000)
    )
    for plan in (large, small, plain, large):
        plan.launch((), 0, 0)
    raised = null.take("cuKernelSetAttribute")
    assert [(each["attribute"], each["value"]) for each in raised] == [(8, 232448 - 1000)] * 2


def test_large_clusters_are_allowed_for(null):
    plan_of(grid=(16, 1, 1), cluster=(16, 1, 1)).launch((), 0, 0)
    assert [(each["attribute"], each["value"]) for each in null.take("cuKernelSetAttribute")] == [(14, 1)]
    plan_of(grid=(8, 1, 1), cluster=(8, 1, 1)).launch((), 0, 0)
    assert null.take("cuKernelSetAttribute") == []


BAD_SHAPES = [
    ({"grid": (0, 1, 1)}, "grid must be .* got \\(0, 1, 1\\); skip the launch"),
    ({"grid": (1, 65536, 1)}, "grid \\(1, 65536, 1\\) exceeds"),
    ({"grid": (2**31, 1, 1)}, "grid must be"),
    ({"grid": (1, 1)}, "grid must be three positive extents"),
    ({"block": (0, 1, 1)}, "block must be"),
    ({"block": (-1, 1, 1)}, "block must be"),
    ({"cluster": (0, 1, 1)}, "cluster must be"),
    ({"grid": (3, 1, 1), "cluster": (2, 1, 1)}, "cluster \\(2, 1, 1\\) does not divide grid \\(3, 1, 1\\)"),
    ({"shared_bytes": -1}, "shared_bytes must be .* got -1"),
    ({"shared_bytes": 2**40}, "shared_bytes must be"),
    ({"attributes": ((4, b""),)}, "cluster as a launch attribute: pass cluster="),
    ({"attributes": ((2, bytes(65)),)}, "has 65 bytes; the limit is 64"),
    ({"parameters": (Pointer(0),)}, "the entry has 0, the plan 1"),
    ({"parameters": (Scalar("u128", "x"),)}, "unsupported type u128 of scalar x: types are b8"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_SHAPES, ids=[str(number) for number in range(len(BAD_SHAPES))])
def test_impossible_plans_are_refused_by_name(changes, message):
    module = Module(image())
    with pytest.raises(LaunchError, match=message):
        Plan(module, "k", **{"grid": ONE, "block": ONE} | changes)
    Plan(module, "k", grid=ONE, block=ONE).launch((), 0, 0)


BAD_ON_DEVICE = [
    ({"max_threads": 256}, {"block": (512, 1, 1)}, "512 threads; the limit of this entry is 256"),
    ({"static_shared": 1}, {"shared_bytes": 232448}, "232449 bytes of shared memory .232448 dynamic.; .* is 232448"),
    (
        {"cluster_launch": 0},
        {"grid": (2, 1, 1), "cluster": (2, 1, 1)},
        "cluster of 2 CTAs: device 0 does not support clusters",
    ),
]


@pytest.mark.parametrize(("settings", "shape", "message"), BAD_ON_DEVICE, ids=["threads", "shared", "cluster"])
def test_what_the_device_lacks_is_said_with_both_numbers_and_a_better_device_serves(null, settings, shape, message):
    plan = plan_of(**shape)
    null.set(**settings)
    with pytest.raises(LaunchError, match=message):
        plan.launch((), 0, 0)
    null.reset()
    plan.launch((), 0, 0)
    assert len(null.launches()) == 1


def test_parameters_are_compared_with_the_entrys():
    with pytest.raises(LaunchError, match="wrong size of parameter 0: 4 bytes in the entry, 8 in the plan"):
        plan_of(Pointer(0), declared=[scalar("u32")])


def test_a_plan_refuses_too_few_addresses_and_devices_that_are_not_there(null):
    plan = plan_of(Pointer(2))
    with pytest.raises(LaunchError, match="expected 3 tensor addresses, got 2"):
        plan.launch((1, 2), 0, 0)
    for device in (2, 63, 64, 1000, -1):
        with pytest.raises(LaunchError, match=f"invalid CUDA device {device}: number of devices is 2"):
            plan.launch((1, 2, 3), 0, device)
    assert null.launches() == []


def test_many_parameters_take_as_much_stack_as_they_need(null):
    plan = plan_of(*(Pointer(0) for _ in range(500)))
    assert launched(null, plan, (0x70,)) == [(0x70).to_bytes(8, "little")] * 500
    with pytest.raises(LaunchError, match="the limit is"):
        plan_of(*(Map(0, TILE) for _ in range(256)))


class Row:
    """Parameter row with the attributes of `pyptx_ir.plugins.rows.EntryParameter`."""

    def __init__(self, name, kind, type_, index=None, value=None, descriptor=None):
        self.name, self.kind, self.type, self.index, self.value, self.descriptor = (
            name,
            kind,
            type_,
            index,
            value,
            descriptor,
        )


class Traced:
    """Specialization with the attributes of `pyptx_ir.plugins.rows.Specialization`."""

    entry, block, cluster, shared_bytes, attributes = "k", (32, 1, 1), (2, 1, 1), 0, ()

    def __init__(self, *parameters):
        self.parameters = parameters

    def grid_on(self, multiprocessors):
        return 2 * multiprocessors, 1, 1


def test_a_plan_is_made_of_anything_shaped_like_a_specialization(null):
    rows = (
        Row("x", "tensor", "u64", 1),
        Row("a", "scalar", "f32", value=2.0),
        Row("m", "descriptor", "b8", 0, None, TILE),
    )
    rows += (Row("d", "descriptor", "u64", 0, None, TILE),)
    module = Module(image(POINTER, scalar("f32"), MAP, POINTER))
    plan_for(Traced(*rows), module, 7).launch((0x1000, 0x2000), 0, 0)
    assert null.launches()[0]["grid"] == [14, 1, 1]
    plan = plan_for(Traced(*rows), module)
    x, a, m, d = launched(null, plan, (0x1000, 0x2000))
    assert (x, a, m) == ((0x2000).to_bytes(8, "little"), struct.pack("<f", 2.0), TILE.encode(0x1000))
    assert d != x
    for row in (Row("x", "tensor", "u64"), Row("x", "surface", "u64", 0), Row("x", "descriptor", "b8", 0)):
        with pytest.raises(LaunchError, match="parameter x"):
            plan_for(Traced(row), Module(image(POINTER)))
    with pytest.raises(LaunchError, match="unsupported parameter x: a descriptor of Row"):
        plan_for(Traced(Row("x", "descriptor", "b8", 0, None, rows[0])), Module(image(POINTER)))
