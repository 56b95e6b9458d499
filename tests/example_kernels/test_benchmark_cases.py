"""Every benchmark case is well formed; kernels equal their references if inputs fit the simulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.kernels.case import BLACKWELL, HOPPER, Case, late, normal
from benchmarks.kernels.protocol import error_of
from benchmarks.kernels.runner import subjects
from tools.shares import full

pytestmark = pytest.mark.scaled

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = subjects()
SMALL = [case for cases in SUBJECTS.values() for case in cases if case.small is not None]


def check_small(case: Case) -> None:
    """Run a benchmark case's kernel on small CPU inputs, and compare the result with the case's reference."""
    import torch

    assert case.small is not None
    inputs = case.small(torch.Generator("cpu").manual_seed(5))
    assert error_of(case.kernel(*inputs), case.reference(*inputs)) <= case.tolerance, case.name


NORM = Case(
    name="rms_norm",
    kernel=late("examples.hopper.rms_norm:rms_norm"),
    make=normal((2048, 8192), (8192,), dtype="float32"),
    baselines={"torch": lambda x, w: late("torch.nn.functional:rms_norm")(x, w.shape, w)},
    reference=lambda x, w: x.double() / (x.double().square().mean(1, keepdim=True) + 1e-6).sqrt() * w,
    tolerance=1e-6,
    bytes=2 * 2048 * 8192 * 4,
    flops=0,
    small=normal((3, 512), (512,), dtype="float32"),
)


@pytest.mark.torch
@pytest.mark.hopper
def test_a_case_is_checked_on_the_simulator_before_a_gpu_sees_it():
    check_small(NORM)


@pytest.mark.torch
@pytest.mark.hopper
def test_a_wrong_kernel_is_seen():
    from dataclasses import replace

    wrong = replace(NORM, kernel=lambda x, w: NORM.kernel(x, w) * 1.001)
    with pytest.raises(AssertionError):
        check_small(wrong)


def test_modules_of_cases_load_without_torch_and_without_kernels():
    code = (
        "import sys; from benchmarks.kernels.runner import subjects; subjects(); "
        "print([name for name in ('torch', 'jax', 'numpy', 'pyptx', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_names_of_cases_are_unique_and_numbers_are_possible():
    cases = [case for rows in SUBJECTS.values() for case in rows]
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert case.bytes > 0, case.name
        assert case.flops >= 0, case.name
        assert 0 <= case.tolerance < 0.1, case.name
        assert case.goal_us is None or case.goal_us > 0, case.name
        assert not {"ours", "copy"} & set(case.baselines), case.name


def test_a_case_is_for_the_gpus_that_its_kernel_is_made_for():
    made_for = {"ampere": None, "blackwell": BLACKWELL, "sm120": (12, 0)}  # other folders' kernels are for Hopper
    for subject, cases in SUBJECTS.items():
        expected = next((at for name, at in made_for.items() if subject.startswith(name)), HOPPER)
        assert {case.capability for case in cases} == {expected}, subject


def test_cases_are_chosen_by_subject_or_by_the_beginning_of_their_names():
    for subject, rows in SUBJECTS.items():
        assert subjects([subject]) == {subject: rows}
        for case in rows:
            assert case in subjects([case.name])[subject]
    assert not subjects(["no such subject"])


@pytest.mark.torch
@pytest.mark.hopper
def test_kernels_equal_their_references_on_small_inputs():
    for case in full(SMALL, default=SMALL[:1]):
        check_small(case)


def test_a_rival_that_is_not_here_is_an_error_when_it_is_called_and_not_before():
    baseline = late("no_such_module_of_baselines:gemm")
    with pytest.raises(ImportError):
        baseline()
    with pytest.raises(AttributeError):
        late("math:no_such_function")()


def test_the_command_lists_its_cases():
    command = [sys.executable, "-m", "benchmarks.kernels", "--list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name}: {case.name}" for name, rows in SUBJECTS.items() for case in rows]


@pytest.mark.torch
@pytest.mark.hopper
@pytest.mark.long
def test_the_command_rehearses_without_a_gpu():
    command = [sys.executable, "-m", "benchmarks.kernels", "--dry-run", "hopper simple"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("hopper simple bf16 4096³: error ")
    assert "µs" not in done.stdout


def test_the_command_refuses_a_name_that_it_does_not_know():
    command = [sys.executable, "-m", "benchmarks.kernels", "gemmm"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no subject or case is called gemmm" in done.stderr
