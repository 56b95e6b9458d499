"""The benchmark runner checks a benchmark case before it measures, and reports every outcome; here on the CPU."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.kernels import gpu
from benchmarks.kernels.case import Case, late, normal
from benchmarks.kernels.dry_run import rehearse, rehearse_all
from benchmarks.kernels.results import COPY, OURS
from benchmarks.kernels.runner import examine, examine_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = [pytest.mark.no_cover, pytest.mark.torch]


@dataclass
class Processor:
    """The CPU as a device: `capture` returns a function that makes the calls."""

    name: str = "cpu"
    cache: int = 1 << 12
    captured: list[int] = field(default_factory=list)

    def runs(self, capability: tuple[int, int], /) -> bool:
        return capability == (9, 0)

    def cache_bytes(self) -> int:
        return self.cache

    def stopwatch(self, run: Callable[[], object], /) -> float:
        begun = time.perf_counter()
        run()
        return (time.perf_counter() - begun) * 1e6

    def capture(self, calls: Sequence[Callable[[], object]], held: int) -> Callable[[], object]:
        assert held <= len(calls)
        self.captured.append(len(calls))
        return lambda: [call() for call in calls]


PRODUCT = Case(
    name="product",
    kernel=late("torch:matmul"),
    make=normal((32, 16), (16, 8), dtype="float32"),
    baselines={"einsum": lambda a, b: late("torch:einsum")("mk,kn->mn", a, b)},
    reference=lambda a, b: a.double() @ b.double(),
    tolerance=1e-5,
    bytes=(32 * 16 + 16 * 8 + 32 * 8) * 4,
    flops=2 * 32 * 16 * 8,
)


def test_a_case_is_checked_and_then_measured_beside_its_rivals_and_the_copy():
    result = examine(PRODUCT, Processor(), seconds=1.5)
    assert not result.failure
    assert 0 < result.error <= PRODUCT.tolerance
    assert set(result.times) == {OURS, COPY, "einsum"}
    assert set(result.speeds) == {COPY, "einsum"}
    for found in (*result.times.values(), *result.speeds.values()):
        assert 0 < found.low <= found.middle <= found.high


def test_a_wrong_kernel_is_not_measured():
    device = Processor()
    wrong = replace(PRODUCT, kernel=lambda a, b: a @ b * 1.01)
    result = examine(wrong, device, seconds=2)
    assert result.failure.startswith("wrong: error 1.0e-02")
    assert not result.times
    assert not device.captured


@pytest.mark.long
def test_a_kernel_that_raises_fails_alone():
    def broken(*_):
        raise ValueError("no such kernel\nand more")

    runs = list(examine_all({"s": [replace(PRODUCT, kernel=broken), PRODUCT]}, Processor(), {}, seconds=4))
    assert [len(run.results) for run in runs] == [1, 2]
    first, second = runs[-1].results
    assert first.failure == "failed: ValueError: no such kernel"
    assert not second.failure


def test_rivals_that_are_missing_or_wrong_are_named_with_the_reason():
    baselines = {"gone": late("no_such_module_of_baselines:gemm"), "wrong": lambda a, b: a @ b + 1, **PRODUCT.baselines}
    result = examine(replace(PRODUCT, baselines=baselines), Processor(), seconds=1.5)
    assert set(result.times) == {OURS, COPY, "einsum"}
    assert result.absent["gone"].startswith("ModuleNotFoundError: No module named")
    assert result.absent["wrong"].startswith("its error is")


def test_rivals_may_leave_out_the_last_outputs():
    def both(a, b):
        return a @ b, (a @ b).sum(1)

    baselines = {"tensor": lambda a, b: a @ b, "tuple": lambda a, b: (a @ b,), "other": lambda a, b: ((a @ b).sum(1),)}
    exact = lambda a, b: both(a.double(), b.double())
    result = examine(replace(PRODUCT, kernel=both, reference=exact, baselines=baselines), Processor(), seconds=1.5)
    assert set(result.times) == {OURS, COPY, "tensor", "tuple"}
    assert result.absent == {"other": "its error is inf"}


def test_cases_for_other_gpus_are_left_out_and_say_so():
    device = Processor()
    result = examine(replace(PRODUCT, capability=(10, 0)), device, seconds=2)
    assert result.left_out == "not measured: made for compute capability 10.0"
    assert not result.failure
    assert not device.captured
    assert not examine(replace(PRODUCT, capability=(9, 0)), device, seconds=1.5).left_out


def test_cases_for_which_no_time_is_left_say_so():
    result = examine(PRODUCT, Processor(), seconds=0.5)
    assert "no time" in result.left_out
    assert not result.failure


@pytest.mark.parametrize(("cache", "size", "sets"), [(1000, 1000, 4), (1000, 300, 14), (1000, 10_000, 2), (0, 1, 2)])
def test_buffers_rotate_through_four_times_the_cache(cache, size, sets):
    assert gpu.copies(Processor(cache=cache), size) == sets


def test_a_rotation_draws_every_set_anew():
    sets = gpu.rotation(Processor(cache=5 * PRODUCT.bytes), PRODUCT)
    assert len(sets) == 20
    assert len({float(a.sum()) for a, _ in sets}) == 20


def test_what_is_replayed_calls_whole_turns_of_the_rotation():
    seen = []
    found = gpu.replay(Processor(), seen.append, [(1,), (2,), (3,)])
    assert found.calls % 3 == 0
    seen.clear()
    found.run()
    assert seen == [1, 2, 3] * (found.calls // 3)


def test_a_rehearsal_calls_everything_with_small_inputs_and_has_no_times():
    seen = []

    def kernel(a, b):
        seen.append((tuple(a.shape), a.device.type))
        return a @ b

    small = replace(PRODUCT, kernel=kernel, small=normal((3, 16), (16, 5), dtype="float32"))
    result = rehearse(small)
    assert not result.failure
    assert 0 < result.error <= PRODUCT.tolerance
    assert set(seen) == {((3, 16), "cpu")}
    assert not result.times
    assert not result.speeds


def test_a_rehearsal_tells_which_row_is_broken_and_which_rival_is_absent():
    small = normal((3, 16), (16, 5), dtype="float32")
    baselines = {"gone": late("no_such_module_of_baselines:gemm"), **PRODUCT.baselines}
    rows = [
        replace(PRODUCT, name="good", small=small, baselines=baselines),
        replace(PRODUCT, name="renamed", small=small, kernel=late("torch:no_such_product")),
        replace(PRODUCT, name="wrong", small=small, kernel=lambda a, b: a @ b * 1.01),
        replace(PRODUCT, name="large"),
    ]
    told = [line for _, line in rehearse_all({"s": rows})]
    assert "correct: einsum; gone absent: ModuleNotFoundError" in told[0]
    assert told[1].startswith("renamed: failed: AttributeError")
    assert told[2].startswith("wrong: wrong: error 1.0e-02")
    assert told[3] == "large: has no small inputs"
