"""Arguments that are views of one buffer alias as on a GPU: results, findings, and bytes that are not written."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tools.shares import at_most

from pyptx_sim import Launch, Memory, Result, Texture, Uninitialized, WithDescriptor, explore, run
from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.scaled

Array = np.ndarray[Any, np.dtype[Any]]

# y[i] = x[i] + 1 on the bits of `count` elements with strides of `sx` and `sy` bytes.
# Thread t processes elements t, t + stride, … in order, where the stride is the number of threads.
PLUS_ONE = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 count, .param .u64 sx, .param .u64 sy)
{
.reg .pred %p<2>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
.reg .b16 %h<3>;
.reg .b64 %v<3>;
ld.param.u64 %rd1, [x];
ld.param.u64 %rd2, [y];
ld.param.u32 %r1, [count];
ld.param.u64 %rd3, [sx];
ld.param.u64 %rd4, [sy];
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mov.u32 %r4, %tid.x;
mad.lo.u32 %r5, %r2, %r3, %r4;
mov.u32 %r6, %nctaid.x;
mul.lo.u32 %r6, %r6, %r3;
again:
setp.ge.u32 %p1, %r5, %r1;
@%p1 bra done;
cvt.u64.u32 %rd5, %r5;
mad.lo.u64 %rd6, %rd5, %rd3, %rd1;
mad.lo.u64 %rd7, %rd5, %rd4, %rd2;
ld.global.TYPE REG1, [%rd6];
add.TYPE REG1, REG1, 1;
st.global.TYPE [%rd7], REG1;
add.u32 %r5, %r5, %r6;
bra again;
done:
ret;
}
"""
TYPES = [np.uint16, np.float16, ml_dtypes.bfloat16, np.int32, np.float32, np.uint64, np.float64]
RACES = {"global-race", "lane-race"}


def plus_one(itemsize: int) -> str:
    register = {2: "%h1", 4: "%r7", 8: "%v1"}[itemsize]
    return PLUS_ONE.replace("TYPE", f"u{8 * itemsize}").replace("REG1", register)


@dataclass(frozen=True)
class Case:
    """Two views inside one buffer: offsets and strides in elements."""

    dtype: Any
    count: int
    first: tuple[int, int]
    second: tuple[int, int]
    extent: int = 96

    @staticmethod
    def drawn(seed: int) -> Case:
        random = np.random.default_rng(seed)
        count, extent = int(random.integers(1, 17)), 96
        strides = random.choice([1, 1, 2, 3, 5], 2)
        spans = (count - 1) * strides + 1
        near = int(random.integers(0, extent - spans.max() + 1))
        offsets = [min(max(near + int(random.integers(-3, 4)), 0), extent - int(span)) for span in spans]
        if random.random() < 0.25:  # the output view is the input view
            offsets[1], strides[1] = offsets[0], strides[0]
        pairs = [(at, int(stride)) for at, stride in zip(offsets, strides, strict=True)]
        return Case(TYPES[seed % len(TYPES)], count, pairs[0], pairs[1], extent)

    def buffer(self) -> Array:
        bits = np.random.default_rng(self.extent).integers(0, 200, self.extent).astype(self.bits)
        return bits.view(self.dtype)

    @property
    def itemsize(self) -> int:
        return np.dtype(self.dtype).itemsize

    @property
    def bits(self) -> str:
        return f"u{self.itemsize}"

    def view(self, buffer: Any, which: tuple[int, int]) -> Any:
        at, stride = which
        return buffer[at : at + (self.count - 1) * stride + 1 : stride]

    def scalars(self) -> list[int]:
        return [self.count, self.first[1] * self.itemsize, self.second[1] * self.itemsize]

    def wanted(self) -> Array:
        """Return the buffer expected if one thread adds 1 to the elements in order."""
        expected = self.buffer().view(self.bits)
        x, y = self.view(expected, self.first), self.view(expected, self.second)
        for number in range(self.count):
            y[number] = x[number] + 1
        return expected

    @property
    def races(self) -> bool:
        """Whether, with one thread per element, an element is written by one thread and accessed by another."""
        (at, step), (to, stride) = self.first, self.second
        readers = {at + number * step: number for number in range(self.count)}
        return any(readers.get(to + number * stride, number) != number for number in range(self.count))


CASES = [Case.drawn(seed) for seed in range(600)]


def raw(case: Case, first: Any, second: Any, **options: Any) -> Result:
    options = {"grid": 1, "block": 1, **options}
    return run(plus_one(case.itemsize), args=[first, second, *case.scalars()], **options)


def in_a_memory(case: Case, first: Any, second: Any, **options: Any) -> Result:
    memory = Memory()
    memory.put(first.base if first.base is not None else first)
    return raw(case, memory.put(first), memory.put(second), **options)


def with_its_buffer(case: Case, first: Any, second: Any, **options: Any) -> Result:
    memory = Memory()
    memory.put(first.base if first.base is not None else first)
    return raw(case, first, second, memory=memory, **options)


def explored(case: Case, first: Any, second: Any, seed: int = 0, *, delay_async: bool = False) -> Result:
    arguments = [first, second, *case.scalars()]
    found = explore(plus_one(case.itemsize), grid=1, block=1, args=arguments, seeds=(seed,), delay_async=(delay_async,))
    (result,) = found.results.values()
    assert isinstance(result, Result)
    return result


DOORS: Sequence[Callable[..., Result]] = [raw, in_a_memory, with_its_buffer, explored]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.long
def test_one_thread_leaves_what_numpy_leaves_for_any_two_views_of_a_buffer(door: Callable[..., Result]) -> None:
    for number, case in enumerate(at_most(CASES, 80)):
        buffer = case.buffer()
        first, second = case.view(buffer, case.first), case.view(buffer, case.second)
        result = door(case, first, second, seed=number % 3, delay_async=bool(number % 2))
        assert result.findings == (), case
        assert (buffer.view(case.bits) == case.wanted()).all(), case


@pytest.mark.torch
def test_one_thread_leaves_the_same_for_tensors() -> None:
    import torch

    types = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    for number, case in enumerate(at_most(CASES, 80)):
        bits = torch.from_numpy(case.buffer().view(f"i{case.itemsize}").copy())
        assert bits.dtype == types[case.itemsize]
        buffer = bits.view({2: torch.bfloat16, 4: torch.float32, 8: torch.float64}[case.itemsize])
        result = raw(case, case.view(buffer, case.first), case.view(buffer, case.second), seed=number % 3)
        assert result.findings == (), case
        assert (bits.numpy().view(case.bits) == case.wanted()).all(), case


@pytest.mark.parametrize("shape", [{"grid": 1, "block": 32}, {"grid": 16, "block": 1}], ids=["lanes", "blocks"])
@pytest.mark.long
def test_threads_race_exactly_where_views_give_one_element_to_two_of_them(shape: dict[str, int]) -> None:
    for number, case in enumerate(at_most(CASES, 80)):
        buffer = case.buffer()
        first, second = case.view(buffer, case.first), case.view(buffer, case.second)
        result = raw(case, first, second, **shape, seed=number % 3, delay_async=bool(number % 2))
        rules = {finding.rule for finding in result.findings}
        if case.races:
            assert rules, case
            assert rules <= RACES, case
        else:
            assert rules == set(), case
            assert (buffer.view(case.bits) == case.wanted()).all(), case


ROTATE = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 q, .param .u64 k)
{
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [q];
ld.param.u64 %rd2, [k];
mov.u32 %r1, %tid.x;
mov.u32 %r3, %ctaid.x;
mul.wide.u32 %rd3, %r1, 4;
mul.wide.u32 %rd5, %r3, 256;
add.u64 %rd3, %rd3, %rd5;
add.u64 %rd4, %rd1, %rd3;
add.u64 %rd5, %rd2, %rd3;
ld.global.u32 %r2, [%rd4];
add.u32 %r2, %r2, 1000;
st.global.u32 [%rd4], %r2;
ld.global.u32 %r2, [%rd5];
add.u32 %r2, %r2, 2000;
st.global.u32 [%rd5], %r2;
ret;
}
"""


def packed() -> tuple[Array, Array]:
    """Return a tensor whose column halves are the kernel's arguments, and the tensor's expected contents."""
    both = np.arange(256, dtype=np.uint32).reshape(4, 64)
    return both, both + np.repeat(np.array([1000, 2000], np.uint32), 32)


def whole(both: Array) -> list[Array]:
    flat = both.reshape(-1)
    return [flat, flat[32:]]


def halves(both: Array) -> list[Array]:
    return [both[:, :32], both[:, 32:]]


@pytest.mark.parametrize("views", [whole, halves])
@pytest.mark.parametrize("seed", range(4))
def test_a_kernel_works_in_place_on_the_halves_of_a_packed_tensor(views: Callable[[Array], Any], seed: int) -> None:
    both, wanted = packed()
    result = run(ROTATE, grid=4, block=32, args=views(both), seed=seed, delay_async=bool(seed % 2))
    assert result.findings == ()
    assert (both == wanted).all()


def test_launches_that_are_given_different_views_see_the_same_bytes() -> None:
    both = np.arange(96, dtype=np.uint32)
    launches = [
        Launch(entry="k", grid=1, block=32, args=[both[at : at + 32], both[to : to + 32], 32, 4, 4])
        for at, to in ((0, 32), (32, 64), (48, 16))
    ]
    expected = both.copy()
    for at, to in ((0, 32), (32, 64), (48, 16)):
        expected[to : to + 32] = expected[at : at + 32] + 1
    launches[2] = Launch(entry="k", grid=1, block=1, args=launches[2].args)
    assert run(plus_one(4), launches).findings == ()
    assert (both == expected).all()


def test_structures_textures_and_descriptors_point_into_the_same_bytes() -> None:
    text = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .align 8 .b8 s[16], .param .u64 t, .param .u64 out)
{
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [s];
ld.param.u64 %rd2, [s+8];
ld.param.u64 %rd3, [t];
ld.param.u64 %rd4, [out];
sub.u64 %rd5, %rd2, %rd1;
st.global.u64 [%rd4], %rd5;
tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd3, {%r0}];
st.global.u32 [%rd4+8], %r1;
ret;
}
""".replace(".reg .b32 %r<9>;", ".reg .b32 %r<9>;\nmov.u32 %r0, 3;")
    both, out = np.arange(96, dtype=np.uint32), np.zeros(4, np.uint32)
    result = run(text, grid=1, block=1, args=[(both[8:40], both[16:]), Texture(both[10:30], "1d"), out])
    assert result.findings == ()
    assert out.tolist() == [32, 0, 13, 0]


def test_messages_name_every_argument_that_has_a_byte_and_the_one_that_ends() -> None:
    both = np.zeros(96, np.uint32)
    result = run(plus_one(4), grid=1, block=64, args=[both[32:], both[:64], 64, 4, 4])
    assert any("argument 0 'x'+0 (argument 1 'y'+128)" in finding.message for finding in result.findings), result
    (finding,) = run(plus_one(4), grid=1, block=1, args=[both[32:], both[:64], 65, 4, 4]).findings
    assert "0 bytes after argument 0 'x' (256 bytes)" in finding.message


def test_bytes_between_elements_are_those_of_the_buffer_and_are_kept_unless_the_kernel_writes_them() -> None:
    both = np.arange(64, dtype=np.uint32)
    assert run(plus_one(4), grid=1, block=1, args=[both[::2], both[1::2], 3, 8, 8]).findings == ()
    assert both[:8].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    out = np.zeros(8, np.uint32)
    assert run(plus_one(4), grid=1, block=1, args=[both[:16:2], out, 8, 4, 4]).findings == ()  # contiguous output view
    assert out.tolist() == list(range(1, 9))
    assert run(plus_one(4), grid=1, block=1, args=[out, both[:16:2], 8, 4, 4]).findings == ()
    assert both[:16].tolist() == [*range(2, 10), *range(8, 16)]


def test_what_the_host_changes_between_the_elements_of_a_view_meanwhile_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = np.zeros(64, np.uint32)
    from pyptx_sim import simulator

    prepared = simulator.run_in_order

    def meanwhile(*arguments: Any) -> Any:
        both[1::2] = 7
        return prepared(*arguments)

    monkeypatch.setattr(simulator, "run_in_order", meanwhile)
    assert run(plus_one(4), grid=1, block=32, args=[both[::2], both[::2], 32, 8, 8]).findings == ()
    assert both.tolist() == [1, 7] * 32


def test_a_record_is_given_by_the_address_of_its_field() -> None:
    records = np.zeros(8, np.dtype([("x", np.float32), ("n", np.uint8)]))
    records["n"] = 7
    field = records["n"]
    text = plus_one(2).replace("ld.global.u16", "ld.global.u8").replace("st.global.u16", "st.global.u8")
    assert run(text, grid=1, block=8, args=[field, field, 8, *[records.itemsize] * 2]).findings == ()
    assert records["n"].tolist() == [8] * 8
    assert records["x"].tolist() == [0.0] * 8


def test_an_array_is_as_aligned_as_its_place_in_its_buffer() -> None:
    wide = plus_one(4).replace("ld.global.u32 %r7,", "ld.global.v2.u32 {%r7, %r8},")
    buffer, out = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
    assert run(wide, grid=1, block=1, args=[buffer[2:], out, 1, 4, 4]).findings == ()
    (finding,) = run(wide, grid=1, block=1, args=[buffer[1:], out, 1, 4, 4]).findings
    assert finding.rule == "misaligned"


# --- uninitialized views --------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, -1])
def test_an_element_that_one_view_holds_initialized_is_initialized(order: int) -> None:
    both = np.arange(64, dtype=np.uint32)
    add = ".visible .entry k(.param .u64 x, .param .u64 y, .param .u32 count, .param .u64 sx, .param .u64 sy)"
    turned = ".visible .entry k(.param .u64 y, .param .u64 x, .param .u32 count, .param .u64 sy, .param .u64 sx)"
    text = plus_one(4) if order == 1 else plus_one(4).replace(add, turned)

    def found(initialized: Any, fresh: Any, count: int, *strides: int) -> list[str]:
        arguments = [*[initialized, Uninitialized(fresh)][::order], count, *strides[::order]]
        return [each.rule for each in run(text, grid=1, block=1, args=arguments).findings]

    assert found(both[:32], both[16:48], 32, 4, 4) == []
    assert found(both[::2], both[1::2], 32, 8, 8) == []
    assert found(both[0:2], both[1:33], 2, 4, 4) == []
    # `swapped` reads the uninitialized view y, also elements outside of the initialized view x.
    swapped = plus_one(4).replace("[%rd6]", "[%rd7]")
    text = swapped if order == 1 else swapped.replace(add, turned)
    assert found(both[::2], both[1::2], 32, 8, 8) == ["uninitialized-memory"]
    assert found(both[::2], both[::2], 32, 8, 8) == []
    assert found(both[1::2], both[1:33], 32, 8, 4) == ["uninitialized-memory"]
    assert found(both[1:33], both[1:33:2], 16, 4, 8) == []


def test_a_view_of_a_fresh_array_of_a_memory_is_fresh() -> None:
    memory = Memory()
    scratch, out = memory.empty(32, np.uint32, "scratch"), memory.put(np.zeros(32, np.uint32))
    view = memory.put(scratch.array[8:16])
    assert view.address == scratch.address + 32
    (finding,) = run(plus_one(4), grid=1, block=8, args=[view, out, 8, 4, 4]).findings
    assert (finding.rule, "'scratch'+32" in finding.message) == ("uninitialized-memory", True)
    assert run(plus_one(4), grid=1, block=8, args=[out, view, 8, 4, 4]).findings == ()
    assert run(plus_one(4), grid=1, block=8, args=[scratch.array[8:16], out, 8, 4, 4], memory=memory).findings == ()


# --- read-only views, and views that a memory rejects ---------------------------------------------


def test_a_read_only_view_is_an_error_only_where_no_writeable_one_has_the_bytes() -> None:
    both = np.zeros(64, np.uint32)
    frozen = both[:48]
    frozen.flags.writeable = False
    for views in ([frozen, both[32:], 16, 4, 4], [both[32:], both[:48], 16, 4, 4]):
        assert run(plus_one(4), grid=1, block=16, args=views).findings == ()
    assert run(plus_one(4), grid=1, block=16, args=[frozen, both[16:], 16, 4, 4]).findings == ()
    both[:] = 0
    with pytest.raises(LaunchError, match="wrote to read-only array y"):
        run(plus_one(4), grid=1, block=16, args=[both[32:], frozen, 16, 4, 4])
    memory = Memory()
    memory.put(frozen)
    both[:] = 0
    assert run(plus_one(4), grid=1, block=16, args=[frozen, both[16:32], 16, 4, 4], memory=memory).findings == ()
    assert both[14:34].tolist() == [0, 0, *[1] * 16, 0, 0]


def test_a_view_that_leaves_a_placed_array_is_refused() -> None:
    memory, both = Memory(), np.zeros(64, np.uint32)
    memory.put(both[:32], "low")
    for attempt in (lambda: memory.put(both[16:48], "high"), lambda: memory.put(both)):
        with pytest.raises(
            LaunchError, match=r"partially overlaps low(.|\n)*first call put\(\) with the array that both are views of"
        ):
            attempt()
    with pytest.raises(LaunchError, match="x partially overlaps low"):
        run(plus_one(4), grid=1, block=1, args=[both[16:], both[16:], 1, 4, 4], memory=memory)
    assert memory.put(both[32:]).address > memory.put(both[:32]).address
    assert memory.put(both[8:16]).address == memory.put(both[:32]).address + 32


@pytest.mark.parametrize("turned", [lambda x: x[::-1], lambda x: x.reshape(8, 8)[:, ::-1]])
def test_negative_strides_are_refused_everywhere(turned: Callable[[Array], Array]) -> None:
    view = turned(np.zeros(64, np.uint32))
    given: list[Callable[[], object]] = [
        lambda: run(plus_one(4), grid=1, block=1, args=[view, view, 1, 4, 4]),
        lambda: Memory().put(view),
    ]
    for attempt in given:
        with pytest.raises(LaunchError, match=r"negative strides(.|\n)*pass a copy"):
            attempt()


def test_strides_of_zero_are_one_element_that_all_share() -> None:
    value, out = np.broadcast_to(np.array([41], np.uint32), (32,)), np.zeros(32, np.uint32)
    assert run(plus_one(4), grid=1, block=32, args=[value, out, 32, 0, 4]).findings == ()
    assert set(out.tolist()) == {42}
    (finding, *_) = run(plus_one(4), grid=1, block=32, args=[value, out, 32, 4, 4]).findings
    assert "after argument 0 'x' (4 bytes)" in finding.message
    with pytest.raises(LaunchError, match="masked array"):
        run(plus_one(4), grid=1, block=1, args=[np.ma.masked_equal(out, 42), out, 1, 4, 4])


def test_workers_are_sent_views_as_views() -> None:
    base = np.zeros(96, np.uint32)
    given = [(base[:64], base[32:], 64, True), (base[1:65], base[1:65], 64, False), (base[::3], base[1::3], 32, False)]
    for *views, count, races in given:
        arguments = [*views, count, *(view.strides[0] for view in views)]
        assert shown_by_workers(arguments) == ({"global-race"} if races else set())


@pytest.mark.torch
def test_workers_are_sent_tensors_that_share_storage_as_such() -> None:
    import torch

    base = torch.zeros(96, dtype=torch.int32)
    assert shown_by_workers([base[:64], base[32:], 64, 4, 4]) == {"global-race"}


@pytest.mark.long
def test_workers_are_sent_a_memory_and_views_of_its_arrays() -> None:
    memory, base = Memory(), np.zeros(96, np.uint32)
    placed = memory.put(base[1:], "base")
    scratch = memory.empty(64, np.uint32, "scratch")
    given = [
        (memory.put(base[1:65]), memory.put(base[33:])),
        (base[1:65], base[33:]),
        (placed.address, placed.address + 4),
    ]
    for first, second in given:
        assert shown_by_workers([first, second, 62, 4, 4], memory=memory) >= {"global-race"}
    assert shown_by_workers([scratch, placed, 64, 4, 4]) == {"uninitialized-memory"}


def shown_by_workers(arguments: list[Any], memory: Memory | None = None) -> set[str]:
    """Return the rules of findings in worker processes, and assert that they are the same in this process."""
    options: dict[str, Any] = {"grid": 2, "block": 32, "args": arguments, "seeds": range(3), "memory": memory}
    with ThreadPoolExecutor(2) as pool:  # explore pickles arguments for worker threads, too
        there = explore(plus_one(4), workers=pool, **options)
    assert str(explore(plus_one(4), **options)) == str(there)
    return {each.finding.rule for each in there.findings}


def test_a_texture_of_an_array_with_strides_is_a_copy_and_a_surface_of_one_is_refused() -> None:
    from pyptx_sim import Surface

    array = np.arange(64, dtype=np.uint32).reshape(8, 8)
    with pytest.raises(LaunchError, match="non-contiguous"):
        Surface(array[:, ::2])
    with pytest.raises(LaunchError, match="non-contiguous"):
        Texture(Memory().put(array[:, ::2]))
    assert Texture(array[:, ::2]).array.shape == (8, 4)


@pytest.mark.hopper
def test_the_descriptor_of_a_view_has_its_address() -> None:
    from importlib import import_module

    described = import_module("pyptx_arch_hopper").TensorMap
    both, out = np.zeros((16, 64), np.float32), np.zeros(2, np.uint64)
    view = both[4:12, 16:48]
    tensor_map = described.of(view, (8, 32))
    assert tensor_map.strides == both.strides
    text = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .align 64 .b8 m[128], .param .u64 x, .param .u64 out)
{
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [m];
ld.param.u64 %rd2, [x];
ld.param.u64 %rd3, [out];
sub.u64 %rd1, %rd1, %rd2;
st.global.u64 [%rd3], %rd1;
ret;
}
"""
    assert run(text, grid=1, block=1, args=[WithDescriptor(view, tensor_map), both, out]).findings == ()
    assert int(out[0]) == 4 * 256 + 16 * 4
