"""The runtime `sim`, with a minimal kernel: only the interface that runtimes use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

from pyptx_ir.plugins.manager import manager
from pyptx_ir.plugins.rows import ALLOCATED, Argument, EntryParameter, Output, Specialization
from pyptx_ir.syntax import parse
from pyptx_sim import Result, call_checks, run, runtime
from pyptx_sim.arrays import argument_of
from pyptx_sim.errors import (
    FindingWarning,
    KernelTrap,
    LaunchError,
    MemoryFault,
    SimulatedExecution,
    SimulationError,
    StepLimitExceeded,
)
from pyptx_sim.runtime import RUNTIME, SimulationResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCALE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n, .param .u32 by)
{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [by];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r5, %r3, %r4, %r5;
setp.ge.u32 %p1, %r5, %r1; @%p1 exit;
mad.wide.u32 %rd1, %r5, SIZE, %rd1; mad.wide.u32 %rd2, %r5, SIZE, %rd2;
ld.global.TYPE %r6, [%rd1]; mul.lo.u32 %r6, %r6, %r2; st.global.TYPE [%rd2], %r6;
ret;
}
"""


@dataclass
class Scale:
    """y = x · by, on integers (or bits) of `ptx_type`."""

    ptx_type: str = "u32"
    name: str = "scale"
    seen: tuple[Argument, ...] = ()

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        self.seen = tuple(arguments)
        (x,) = arguments
        count = int(np.prod(x.shape))
        bits = 8 if self.ptx_type in {"e4m3", "e5m2", "ue8m0"} else int(self.ptx_type.lstrip("usbf"))
        text = SCALE.replace("SIZE", str(bits // 8)).replace("TYPE", f"u{bits}")
        by = keywords["by"]
        assert isinstance(by, int)
        return Specialization(
            entry="scale",
            text=text,
            module=parse(text),
            target="sm_80",
            grid=(-(-count // 64), 1, 1),
            block=(64, 1, 1),
            cluster=(1, 1, 1),
            shared_bytes=0,
            parameters=(
                EntryParameter("x", "tensor", "u64", 0),
                EntryParameter("y", "tensor", "u64", 1),
                EntryParameter("n", "scalar", "u32", value=count),
                EntryParameter("by", "scalar", "u32", value=by),
            ),
            outputs=(
                Output(
                    "y",
                    x.shape,
                    self.ptx_type,
                    tuple(stride // (bits // 8) for stride in np.empty(x.shape, f"u{bits // 8}").strides),
                ),
            ),
        )


def call(kernel: Scale, *arrays: Any, **keywords: Any) -> Any:
    return RUNTIME.call(kernel, arrays, keywords)


def simulate(kernel: Scale, *arrays: Any, **keywords: Any) -> SimulationResult:
    assert RUNTIME.simulate is not None
    result = RUNTIME.simulate(kernel, arrays, keywords)
    assert isinstance(result, SimulationResult)
    return result


def test_the_runtime_is_found_through_the_plugins_behind_all_others() -> None:
    runtimes = {runtime.name: runtime for runtime in manager().runtimes()}
    assert runtimes["sim"].priority == min(runtime.priority for runtime in runtimes.values())
    assert runtimes["sim"].claims([np.zeros(3)])
    assert not runtimes["sim"].claims([[1.0]])


def test_a_call_returns_a_new_array_of_the_callers_kind() -> None:
    kernel = Scale()
    x = np.arange(100, dtype=np.uint32).reshape(10, 10)
    y = call(kernel, x, by=3)
    assert type(y) is np.ndarray
    assert (y == x * 3).all()
    assert kernel.seen[0].shape == (10, 10)
    assert kernel.seen[0].strides == (10, 1)
    assert kernel.seen[0].address % 256 == 0


def test_out_takes_the_array_to_write_to() -> None:
    x, out = np.arange(5, dtype=np.uint32), np.zeros(5, np.uint32)
    assert call(Scale(), x, by=2, out=out) is out
    assert out.tolist() == [0, 2, 4, 6, 8]
    assert call(Scale(), x, by=2, out=x) is x
    assert x.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.float32])
def test_bits_go_into_any_array_of_their_width(dtype: type) -> None:
    x = np.arange(5, dtype=np.uint32)
    out = np.zeros(5, dtype)
    assert call(Scale("b32"), x, by=2, out=out) is out
    assert np.array_equal(out.view(np.uint32), 2 * x)
    with pytest.raises(LaunchError, match=r"expected shape .* of b32, got .* of u16"):
        call(Scale("b32"), x, by=2, out=np.zeros(5, np.uint16))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(4, np.uint32), r"expected shape \(5,\) of u32, got \(4,\) of u32"),
        (np.zeros(5, np.float32), "of f32"),
        (np.zeros(10, np.uint32)[::2], r"expected strides \(1,\), got \(2,\)"),
        ((np.zeros(5, np.uint32),) * 2, "expected 1 array in out=, got 2"),
        ([1, 2], "expected 1 array in out=, got 2"),
        ("y", "must be an array on the CPU, got str"),
    ],
)
def test_an_out_that_does_not_fit_is_an_error(out: Any, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        call(Scale(), np.zeros(5, np.uint32), by=2, out=out)


@dataclass
class Twice(Scale):
    """`Scale` with a second output, which it does not write, and outputs at multiples of 16 bytes."""

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        special = Scale.specialize(self, arguments, keywords)
        (y,) = special.outputs
        return replace(special, outputs=(replace(y, alignment=16), replace(y, name="z")))


def test_outputs_that_share_memory_or_are_not_aligned_are_errors() -> None:
    x, room = np.arange(5, dtype=np.uint32), np.zeros(12, np.uint32)
    with pytest.raises(LaunchError, match="for z and for y overlap in memory"):
        call(Twice(), x, by=2, out=(room[:5], room[4:9]))
    with pytest.raises(LaunchError, match=r"out= for y: address .* is not aligned to 16 bytes"):
        call(Twice(), x, by=2, out=(room[1:6], np.zeros(5, np.uint32)))
    first, second = call(Twice(), x, by=2, out=(room[:5], room[5:10]))
    assert (first.tolist(), second.tolist()) == ([0, 2, 4, 6, 8], [0] * 5)


def test_what_numpy_has_allocated_is_as_aligned_as_on_a_device_and_views_lie_where_they_do_there() -> None:
    rooms = [np.zeros(size, np.uint32) for size in (3, 64, 5000, 1 << 20)]  # NumPy's own allocations vary in alignment
    assert [argument_of(room).address % 256 for room in rooms] == [0] * 4
    assert [argument_of(room.reshape(1, -1)[:, 2:]).address % 256 for room in rooms] == [8] * 4
    foreign = np.frombuffer(bytearray(64), np.uint32, offset=4)
    assert argument_of(foreign).address == foreign.ctypes.data


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ma.masked_equal(np.arange(5, dtype=np.uint32), 2), "masked array"),
        (np.arange(5, dtype=np.uint32)[::-1], "negative strides"),
    ],
)
def test_an_array_whose_bytes_are_not_its_elements_in_order_is_refused(array: Any, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        call(Scale(), array, by=2)


def test_the_doctor_says_on_what_the_simulator_runs() -> None:
    (check,) = [check for check in manager().doctor_checks() if check.name == "simulator"]
    (line,) = check.run()
    assert (line.state, np.__version__ in line.found) == ("ok", True)


def test_simulate_returns_outputs_findings_and_statistics() -> None:
    x = np.arange(70, dtype=np.uint32)
    result = simulate(Scale(), x, by=2, checks="all", seed=3)
    assert result.clean
    assert (result.outputs[0] == x * 2).all()
    assert result.statistics.warps == 4
    with pytest.raises(StepLimitExceeded):
        simulate(Scale(), x, by=2, step_limit=0)


@pytest.mark.parametrize(("room", "waves"), [(None, 1), (2, 2), (1, 3)])
def test_simulate_is_told_how_many_blocks_are_resident(room: int | None, waves: int) -> None:
    x = np.arange(150, dtype=np.uint32)
    result = simulate(Scale(), x, by=2, resident_blocks=room)
    assert (result.outputs[0] == x * 2).all()
    assert result.statistics.waves == waves


def test_elements_that_numpy_lacks_are_bits() -> None:
    x = np.array([0x3F80, 0x4000], np.uint16)
    y = call(Scale("bf16"), x, by=1)
    assert y.dtype.itemsize == 2
    assert y.view(np.uint16).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("ptx", "name"), [("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2"), ("ue8m0", "float8_e8m0fnu")]
)
def test_small_floats_pass_bit_by_bit(ptx: str, name: str) -> None:
    bits = np.arange(256, dtype=np.uint8).reshape(4, 64)
    x = bits.view(getattr(ml_dtypes, name))
    y = call(Scale(ptx), x, by=1)
    assert isinstance(y, np.ndarray)
    assert (y.dtype, y.shape) == (x.dtype, x.shape)
    assert np.array_equal(y.view(np.uint8), bits)


def test_a_dtype_that_ptx_lacks_is_an_error() -> None:
    with pytest.raises(LaunchError, match="complex64"):
        call(Scale(), np.zeros(2, np.complex64), by=1)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::pyptx_sim.errors.SimulatedExecution")
def test_torch_tensors_on_the_cpu_give_torch_tensors() -> None:
    import torch

    x = torch.arange(100, dtype=torch.int32).reshape(10, 10)
    y = call(Scale("s32"), x, by=3)
    assert isinstance(y, torch.Tensor)
    assert torch.equal(y, x * 3)
    out = torch.zeros_like(x)
    assert call(Scale("s32"), x, by=3, out=out) is out
    assert torch.equal(out, y)
    assert not RUNTIME.claims([torch.zeros(1, device="meta")])


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::pyptx_sim.errors.SimulatedExecution")
def test_bf16_tensors_pass_as_bits() -> None:
    import torch

    x = torch.tensor([1.0, -2.0, 3.5], dtype=torch.bfloat16, requires_grad=True)
    kernel = Scale("bf16")
    y = call(kernel, x, by=1)
    assert y.dtype == torch.bfloat16
    assert torch.equal(y, x.detach())


@dataclass
class Half(Scale):
    """`Scale` with half of the CTAs, which have 64 elements each."""

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        special = super().specialize(arguments, keywords)
        return replace(special, grid=(special.grid[0] // 2, 1, 1))


@dataclass
class Lasting(Scale):
    """`Scale` as a persistent kernel with 2 CTAs per SM."""

    def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
        return replace(super().specialize(arguments, keywords), persistent=2)


def test_a_persistent_kernel_has_the_blocks_of_an_h200() -> None:
    """Two CTAs for each of 132 SMs. This kernel does not loop over elements of further CTAs; these stay unwritten."""
    x = np.ones(300 * 64, np.uint32)
    for result in (simulate(Lasting(), x, by=2).outputs[0], call(Lasting(), x, by=2)):
        assert np.count_nonzero(result == 2) >= 264 * 64
        assert np.count_nonzero(result[264 * 64 :] == 2) < 36 * 64
    assert (call(Lasting(), x[: 5 * 64], by=2) == 2).all()


def test_an_output_that_is_written_in_part_is_a_finding_with_its_first_missing_element() -> None:
    x = np.ones((4, 50), np.uint32)
    result = simulate(Half(), x, by=2)
    (finding,) = result.findings
    assert (finding.rule, finding.line) == ("unwritten-output", 12)
    assert finding.message == "72 of 200 elements of output 'y' were never written; first: y[2, 28]"
    assert finding.help is not None
    assert finding.notes == ("this launch has 128 threads: 2 CTAs of 64 threads",)
    assert simulate(Scale(), x, by=2).clean


def test_an_output_that_no_instruction_stores_to_is_told_at_the_last_one() -> None:
    class Lost(Scale):
        def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
            special = super().specialize(arguments, keywords)
            return replace(special, module=parse(special.text.replace("st.global.u32 [%rd2], %r6;", "")))

    (finding,) = simulate(Lost(), np.ones(64, np.uint32), by=2).findings
    assert (finding.rule, finding.line) == ("unwritten-output", 13)
    assert finding.message == "64 of 64 elements of output 'y' were never written; first: y[0]"
    assert finding.notes[0] == "no instruction stores to this output"


def test_an_array_that_the_caller_brings_may_be_written_in_part() -> None:
    x, out = np.ones(200, np.uint32), np.full(200, 7, np.uint32)
    assert simulate(Half(), x, by=2, out=out).clean
    assert out.tolist() == [2] * 128 + [7] * 72


def test_a_plain_call_warns_of_its_first_finding_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(200, np.uint32)
    monkeypatch.delenv("PYPTX_CHECKS", raising=False)
    with pytest.warns(FindingWarning, match=r"(?s)scale: error\[unwritten-output\]: .*scale\.simulate\(…\)"):
        assert call(Half(), x, by=2).tolist() == [2] * 128 + [0] * 72
    with pytest.warns(FindingWarning, match="unwritten-output"):
        RUNTIME.call(Half(), [x], {"by": 2, "out": np.zeros(200, np.uint32), ALLOCATED: True})
    call(Half(), x, by=2, out=np.zeros(200, np.uint32))
    monkeypatch.setenv("PYPTX_CHECKS", "off")
    call(Half(), x, by=2)
    monkeypatch.setenv("PYPTX_CHECKS", "some")
    with pytest.raises(LaunchError, match="PYPTX_CHECKS must be off, auto or all, got 'some'"):
        call(Half(), x, by=2)


def test_a_large_launch_is_checked_only_when_all_are(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(2 * call_checks.MOST_THREADS + 128, np.uint32)
    monkeypatch.setenv("PYPTX_CHECKS", "auto")
    call(Half(), x, by=2)
    monkeypatch.setenv("PYPTX_CHECKS", "all")
    with pytest.warns(FindingWarning, match="unwritten-output"):
        call(Half(), x, by=2)


ENDLESS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry endless()
{
.reg .b32 %r<3>;
.reg .pred %p<2>;
setp.eq.u32 %p1, %r2, 1;
@%p1 bra again;
again: add.u32 %r1, %r1, 1;
bra again;
}
"""


LONG = "mov.u32 %r8, 0; again: add.u32 %r8, %r8, 2; setp.ne.u32 %p2, %r8, 7; @%p2 bra again;"


def test_a_run_that_takes_too_long_has_found_what_it_has_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CHECKS", "auto")
    with pytest.raises(StepLimitExceeded) as stopped:
        run(ENDLESS, grid=1, block=32, step_limit=50)
    assert [(finding.rule, finding.line) for finding in stopped.value.findings] == [("uninitialized-register", 10)]
    special = Scale().specialize([Argument((64,), "u32", (1,), 0, "cpu")], {"by": 1})

    def attempt(steps: int) -> Result:
        return run(ENDLESS, grid=1, block=32, step_limit=steps)

    assert [finding.rule for finding in call_checks.find(special, [256], attempt)] == ["uninitialized-register"]


@pytest.mark.parametrize(("end", "error"), [("trap;", KernelTrap), (LONG, StepLimitExceeded)])
def test_a_plain_call_that_is_stopped_says_what_its_checks_have_found(
    end: str, error: type[SimulationError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "run", lambda *given, **options: run(*given, **{"step_limit": 1000, **options}))

    class Stopped(Scale):
        def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
            special = super().specialize(arguments, keywords)
            text = special.text.replace("mul.lo.u32 %r6, %r6, %r2", "add.u32 %r6, %r6, %r8").replace("ret;", end)
            return replace(special, module=parse(text))

    with pytest.raises(error) as stopped:
        call(Stopped(), np.ones(64, np.uint32), by=2)
    assert [finding.rule for finding in stopped.value.findings] == ["uninitialized-register"]
    assert "uninitialized-register" in str(stopped.value)


def test_what_fails_in_a_plain_call_fails_as_without_checks() -> None:
    x = np.ones(100, np.uint32)

    class Wild(Scale):
        def specialize(self, arguments: Sequence[Argument], keywords: Mapping[str, object]) -> Specialization:
            special = super().specialize(arguments, keywords)
            values = [replace(row, value=120) if row.name == "n" else row for row in special.parameters]
            return replace(special, parameters=tuple(values))

    with pytest.raises(MemoryFault, match="after argument"):
        call(Wild(), x, by=2)


@pytest.mark.torch
def test_tensors_on_the_cpu_warn_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    x = torch.zeros(1, dtype=torch.int32)
    monkeypatch.delenv("PYPTX_CPU", raising=False)
    with pytest.warns(SimulatedExecution, match=r"scale runs on the simulator.*PYPTX_CPU=quiet.*PYPTX_CHECKS=all"):
        call(Scale("s32"), x, by=1)
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    call(Scale("s32"), x, by=1)
    monkeypatch.setenv("PYPTX_CPU", "error")
    with pytest.raises(LaunchError, match="move the tensors to the GPU"):
        call(Scale("s32"), x, by=1)
    monkeypatch.setenv("PYPTX_CPU", "perhaps")
    with pytest.raises(LaunchError, match="must be quiet, warn or error"):
        call(Scale("s32"), x, by=1)


@pytest.mark.parametrize("array", [np.arange(4, dtype=">u4"), np.arange(4, dtype=">u4").astype("<u4").view(">u4")])
def test_an_array_of_foreign_byte_order_is_refused_and_never_misread(array: Any) -> None:
    with pytest.raises(LaunchError, match="byte order"):
        call(Scale(), array, by=2)
    with pytest.raises(LaunchError, match="byte order"):
        call(Scale(), np.arange(4, dtype=np.uint32), by=2, out=array)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::pyptx_sim.errors.SimulatedExecution")
def test_tensors_that_do_not_store_their_elements_one_by_one_are_refused() -> None:
    import torch

    with pytest.raises(LaunchError, match="sparse"):
        call(Scale("s32"), torch.ones(4, dtype=torch.int32).to_sparse(), by=2)
    with pytest.raises(LaunchError, match="resolve_neg"):
        call(Scale("f32"), torch.ones(4, dtype=torch.complex64).conj().imag, by=2)


@pytest.mark.parametrize("seed", [-1, "first", 1.5, None])
def test_a_seed_that_is_none_is_an_error_that_says_so(seed: Any) -> None:
    with pytest.raises(LaunchError, match="seed must be"):
        simulate(Scale(), np.arange(4, dtype=np.uint32), by=2, seed=seed)


def test_numpy_integers_are_seeds() -> None:
    assert (simulate(Scale(), np.arange(4, dtype=np.uint32), by=2, seed=np.int64(3)).outputs[0] == [0, 2, 4, 6]).all()
