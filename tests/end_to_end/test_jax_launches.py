"""Driver calls that a kernel call in jax makes, with XLA's own runtime and the GPU handler, on the null driver.

The GPU handler is registered for the CPU (`xla_with_a_stream.py`), so launches pass addresses of host arrays. The null
driver records the launches.
"""

from __future__ import annotations

import gc
import importlib.util
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from time import sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from pyptx_ir.plugins.rows import Argument
from pyptx_launch import xla

from .xla_with_a_stream import NAME, STREAM, register

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.jax, pytest.mark.ptxas]

NULL_DRIVER = Path(__file__).parents[2] / "packages" / "pyptx-launch" / "tests" / "null_driver.py"
VECTOR = Tile("N", f32)


@kernel(
    in_specs=(VECTOR, VECTOR),
    out_specs=(VECTOR,),
    raw_params=[("f32", "factor"), ("u32", "count")],
    mutates=("TOTAL",),
    grid=lambda N: (N // 32, 2),
    block=32,
    smem=256,
    arch="sm_80",
)
def accumulate(X, TOTAL, OLD):
    for pointer in ptx.global_ptrs(X, TOTAL, OLD):
        ptx.inst.prefetch.global_.L2(ptx.addr(pointer))
    ptx.ret()


def fresh(number: int, arch: str = "sm_80") -> Any:
    """Return a new kernel object; no program has called it yet, so its code is not loaded."""

    @kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=1, block=32, arch=arch)
    def made(X, Y):
        _, y = ptx.global_ptrs(X, Y)
        ptx.inst.st.global_.u32(ptx.addr(y), number)
        ptx.ret()

    return made


@kernel(in_specs=(Tile("N", f32),), out_specs=(VECTOR,), grid=(4, 1, 1), cluster=(2, 1, 1), block=64, arch="sm_90")
def clustered(X, Y):
    x, y = ptx.global_ptrs(X, Y)
    at = reg.from_(ptx.special.tid.x(), u32) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(x + at))
    ptx.inst.st.global_.f32(ptx.addr(y + at), value)
    ptx.ret()


@kernel(in_specs=(VECTOR,), out_specs=(VECTOR,), grid=lambda N: N, persistent=1, arch="sm_80")
def lasting(X, Y):
    for pointer in ptx.global_ptrs(X, Y):
        ptx.inst.prefetch.global_.L2(ptx.addr(pointer))
    ptx.ret()


def module_at(path: Path) -> Any:
    """Import a file outside any package, once."""
    name = f"{path.stem}_of_pyptx_launch"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture
def jax() -> Any:
    """Return the module jax, imported lazily: without jax these tests are deselected."""
    import jax

    return jax


@pytest.fixture(scope="module")
def wrapper(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Build the GPU handler with a stream, and register it with XLA for the CPU."""
    return register(tmp_path_factory.mktemp("xla"))


@pytest.fixture
def null(wrapper: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Route kernel calls to the GPU handler for XLA, and its driver calls to the null driver."""
    assert wrapper
    driver = module_at(NULL_DRIVER).install()
    driver.reset()
    monkeypatch.setattr(xla, "NAME", NAME)
    yield driver
    driver.reset()


def address(array: Any) -> int:
    return int(array.unsafe_buffer_pointer())


def addresses(launch: dict[str, Any], count: int) -> list[int]:
    return [struct.unpack("<Q", parameter)[0] for parameter in launch["parameters"][:count]]


def test_a_call_launches_on_xlas_stream_with_the_arrays_addresses(null: Any, jax: Any) -> None:
    x = jax.numpy.ones(64)
    y = clustered(x)
    (launch,) = null.launches()
    assert (launch["grid"], launch["block"]) == ([4, 1, 1], [64, 1, 1])
    assert launch["stream"] == STREAM
    assert [value[:12] for number, value in launch["attributes"] if number == 4] == [struct.pack("<3I", 2, 1, 1)]
    assert addresses(launch, 2) == [address(x), address(y)]


def test_a_persistent_kernel_has_the_blocks_of_the_smallest_device(null: Any, jax: Any) -> None:
    for size in (100, 400):
        lasting(jax.numpy.ones(size))
    assert [one["grid"] for one in null.launches()] == [[100, 1, 1], [132, 1, 1]]


def test_a_call_with_no_elements_and_no_blocks_launches_nothing(null: Any, jax: Any) -> None:
    empty = jax.numpy.ones(0)
    assert lasting(empty).shape == (0,)
    assert jax.jit(lambda x: lasting(x) + 1)(empty).shape == (0,)
    assert jax.vmap(lasting)(jax.numpy.ones((3, 0))).shape == (3, 0)
    assert null.launches() == []


def test_scalars_shared_memory_and_new_values(null: Any, jax: Any) -> None:
    x, total = jax.numpy.ones(64), jax.numpy.zeros(64)
    old, new = jax.jit(lambda x, total: accumulate(x, total, factor=2.5, count=7))(x, total)
    (launch,) = null.launches()
    assert (launch["grid"], launch["shared"]) == ([2, 2, 1], 256)
    assert addresses(launch, 3) == [address(x), address(new), address(old)]
    assert address(new) != address(total)  # the caller did not donate `total`, so the output has its own memory
    assert launch["parameters"][3:] == [struct.pack("<f", 2.5), struct.pack("<I", 7)]


def test_a_program_is_loaded_once_and_launched_each_time(null: Any, jax: Any) -> None:
    x, twice = jax.numpy.ones(128), fresh(1)
    function = jax.jit(lambda x: twice(twice(x)))
    function(x)
    calls = [call["call"] for call in null.take()]
    assert (calls.count("cuLaunchKernelEx"), calls.count("cuLibraryLoadData")) == (2, 1)
    for _ in range(5):
        function(x)
    assert {call["call"] for call in null.take()} <= {"cuLaunchKernelEx", "cuCtxGetCurrent", "cuCtxSetCurrent"}


def test_later_calls_of_a_program_launch_for_their_own_arrays(null: Any, jax: Any) -> None:
    function = jax.jit(lambda x, total: accumulate(x, total, factor=1.0, count=1))
    kept = []  # keeps all arrays alive, so that each call's arrays have other addresses
    for _ in range(4):  # from the second call on, the GPU handler reads only addresses of arrays
        x, total = jax.numpy.ones(64), jax.numpy.zeros(64)
        old, new = function(x, total)
        assert addresses(null.launches()[-1], 3) == [address(x), address(new), address(old)]
        kept.append((x, total, old, new))
    assert len({address(array) for row in kept for array in row}) == 16
    batched = jax.jit(jax.vmap(lambda x: clustered(x)))  # noqa: PLW0108  a plain function
    for _ in range(3):
        x = jax.numpy.ones((2, 64))
        y = batched(x)
        found = [addresses(launch, 2) for launch in null.launches()]
        assert found == [[address(x) + 256 * row, address(y) + 256 * row] for row in range(2)]


def test_vmap_launches_once_for_each_item_without_copies(null: Any, jax: Any) -> None:
    x, w = jax.numpy.ones((3, 64)), jax.numpy.ones(64)
    y = jax.vmap(lambda x: clustered(x))(x)  # noqa: PLW0108  a plain function
    assert [addresses(launch, 2) for launch in null.launches()] == [
        [address(x) + 256 * row, address(y) + 256 * row] for row in range(3)
    ]
    old, total = jax.vmap(lambda x, w: accumulate(x, w, factor=1.0, count=1), (0, None))(x, w)
    rows = [addresses(launch, 3) for launch in null.launches()]
    assert rows == [[address(each) + 256 * row for each in (x, total, old)] for row in range(3)]


def test_nested_vmaps_share_what_is_not_batched(null: Any, jax: Any) -> None:
    @kernel(in_specs=(VECTOR, VECTOR), out_specs=(VECTOR,), grid=1, block=32, arch="sm_80")
    def pair(X, W, Y):
        ptx.global_ptrs(X, W, Y)
        ptx.ret()

    x, w = jax.numpy.ones((3, 64)), jax.numpy.ones((2, 64))
    y = jax.jit(jax.vmap(jax.vmap(pair, (None, 0)), (0, None)))(x, w)
    assert y.shape == (3, 2, 64)
    found = [addresses(launch, 3) for launch in null.launches()]
    assert [each[0] - found[0][0] for each in found] == [0, 0, 256, 256, 512, 512]
    assert [each[1] - found[0][1] for each in found] == [0, 256, 0, 256, 0, 256]
    assert [each[2] for each in found] == [address(y) + 256 * number for number in range(6)]


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_what_the_driver_refuses_is_told_whole_and_the_next_call_works(null: Any, jax: Any, jitted: bool) -> None:  # noqa: FBT001  a parameter of pytest's
    x = jax.numpy.ones(64)
    function = jax.jit(lambda x: clustered(x)) if jitted else clustered  # noqa: PLW0108  a separate program
    function(x)
    null.fail("cuLaunchKernelEx", 719)
    # jax raises a ValueError if the program has run before, and JaxRuntimeError otherwise.
    with pytest.raises((RuntimeError, ValueError), match=r"(?s)clustered.*CUDA_ERROR_LAUNCH_FAILED.*help") as caught:
        jax.block_until_ready(function(x))
    assert type(caught.value).__name__ == ("ValueError" if jitted else "ExecutionError")
    null.take()
    function(x)
    assert len(null.launches()) == 1


def test_a_program_that_cannot_be_loaded_says_why(null: Any, jax: Any) -> None:
    x, loaded = jax.numpy.ones(96), fresh(2)
    null.fail("cuLibraryLoadData", 209)
    with pytest.raises(RuntimeError, match="CUDA_ERROR_NO_BINARY_FOR_GPU"):
        loaded(x)
    loaded(x)
    assert len(null.launches()) == 1


def test_code_is_compiled_for_the_device(null: Any, jax: Any) -> None:
    x, compiled = jax.numpy.ones(160), fresh(3)
    null.take()
    compiled(x)
    (load,) = null.take("cuLibraryLoadData")
    assert load
    text = jax.jit(lambda x: compiled(x)).lower(x).as_text()  # noqa: PLW0108  a plain function
    assert ".target sm_80" in text  # the lowered PTX targets the kernel's oldest arch
    np.testing.assert_array_equal(x, np.ones(160))


# --- first calls at the same time -------------------------------------------------------------------------------------


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> Compiling:
    """Replace the PTX compiler by one that runs a function of the test before it compiles."""
    from pyptx_jax import cuda

    found = Compiling(cuda.image_of)
    monkeypatch.setattr(cuda, "image_of", found)
    return found


class Compiling:
    """Stand-in compiler that calls `meanwhile` before each compilation, and records the compiled PTX texts."""

    def __init__(self, real: Callable[..., bytes]) -> None:
        self.real = real
        self.texts: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, special: Any, device: str | None = None) -> bytes:
        self.texts.append(special.text)
        self.meanwhile()
        return self.real(special, device)


def at_once(*calls: Callable[[], object]) -> list[object]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(60) for future in [pool.submit(call) for call in calls]]


def test_kernels_compile_at_the_same_time(null: Any, jax: Any, compiling: Compiling) -> None:
    x, kernels = jax.numpy.ones(64), [fresh(10 + number) for number in range(3)]
    compiling.meanwhile = Barrier(3, timeout=30).wait  # each thread's compilation waits until all three threads compile
    at_once(*(partial(made, x) for made in kernels))
    assert len(set(compiling.texts)) == 3
    assert len(null.launches()) == 3


def test_a_kernel_that_several_programs_call_is_compiled_once(null: Any, jax: Any, compiling: Compiling) -> None:
    x, made, programs = jax.numpy.ones(64), fresh(20), 4
    compiling.meanwhile = lambda: sleep(0.2)  # long enough for the other threads to start
    functions = [jax.jit(lambda x, n=number: made(x + n)) for number in range(programs)]
    null.take()
    at_once(*(partial(function, x) for function in functions))
    calls = [call["call"] for call in null.take()]
    assert (calls.count("cuLaunchKernelEx"), calls.count("cuLibraryLoadData")) == (programs, 1)
    assert len(compiling.texts) == 1


def test_who_waits_for_a_compiler_that_fails_compiles(null: Any, jax: Any, compiling: Compiling) -> None:
    def fail_once() -> None:
        sleep(0.2)
        if len(compiling.texts) == 1:
            raise ValueError("no compiler today")

    x, made = jax.numpy.ones(64), fresh(30)
    compiling.meanwhile = fail_once
    functions = [jax.jit(lambda x, n=number: made(x + n)) for number in range(2)]
    outcomes = at_once(*(partial(outcome_of, function, x) for function in functions))
    assert sorted(map(str, outcomes)) == ["launched", "no compiler today"]
    assert len(null.launches()) == 1


def outcome_of(function: Callable[..., object], x: object) -> str:
    try:
        function(x)
    except RuntimeError as error:
        return str(error).removeprefix("INTERNAL: ")
    return "launched"


def unloaded(null: Any) -> list[int]:
    """Return the libraries unloaded since this function's last call, including libraries that earlier tests retired."""
    return [call["library"] for call in null.take("cuLibraryUnload")]


def test_code_goes_with_the_last_program_that_calls_it(null: Any, jax: Any) -> None:
    from pyptx_jax.cuda import MODULES
    from pyptx_launch.retired import RETIRED

    x, made = jax.numpy.ones(64), fresh(40)
    text = made.specialize([Argument((64,), "f32", (1,))], {}).text
    function = jax.jit(lambda x: made(x + 1))
    for _ in range(2):
        jax.block_until_ready(function(x))
        assert [code.text for code in MODULES._known].count(text) == 1
    (library,) = {module._library for code, module in MODULES._known.items() if code.text == text}
    del function
    jax.clear_caches()
    gc.collect()
    assert text not in [code.text for code in MODULES._known]
    assert library not in unloaded(null), "a kernel of the library may be running"
    RETIRED.unload(wait=True)
    assert library in unloaded(null)
