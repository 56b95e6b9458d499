"""Runs that end with an error keep their findings up to the error."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.commands import main
from pyptx_sim import Finding, explore
from pyptx_sim.errors import KernelTrap, SimulationError, StepLimitExceeded

from .ptx_text import BODY_LINE, execute, module

if TYPE_CHECKING:
    from pathlib import Path

# Warp 1 adds a word, stored by warp 0, to a sum until the sum is 7. If it reads the old value 2, the loop never ends.
RACING = """
.shared .b32 s[4];
mov.u32 %r2, 0; setp.eq.u32 %p3, %r0, 0; @%p3 st.shared.u32 [s], 2;
bar.sync 0;
setp.lt.u32 %p1, %r0, 32; @%p1 bra store;
ld.shared.u32 %r1, [s];
again: add.u32 %r2, %r2, %r1; setp.ne.u32 %p2, %r2, 7; @%p2 bra again;
ret;
store: @%p3 st.shared.u32 [s], 1;
"""
LINES = (
    f"(PTX line {BODY_LINE + 7} and PTX line {BODY_LINE + 4})",
    f"(PTX line {BODY_LINE + 4} and PTX line {BODY_LINE + 7})",
)
TRAPPING = RACING.replace("again: add.u32 %r2, %r2, %r1; setp.ne.u32 %p2, %r2, 7; @%p2 bra again;", "trap;")
SEEDS = range(6)


def stopped(body: str, seed: int = 0) -> SimulationError | None:
    try:
        execute(body, np.zeros(64, np.uint32), block=64, seed=seed, step_limit=2000)
    except SimulationError as error:
        return error
    return None


@pytest.mark.parametrize(("body", "kind"), [(RACING, StepLimitExceeded), (TRAPPING, KernelTrap)])
def test_the_error_has_the_race_and_names_it(body: str, kind: type[SimulationError]) -> None:
    errors = [error for seed in SEEDS if (error := stopped(body, seed)) is not None]
    assert errors
    for error in errors:
        assert type(error) is kind
        if kind is StepLimitExceeded or error.findings:  # no finding if the racing store follows the trap
            assert [finding.rule for finding in error.findings] == ["shared-race"]
            *_, title, named = str(error).splitlines()
            assert title == "1 earlier finding:"
            assert named.startswith("  error[shared-race]: ")
            assert named.endswith(LINES)
        assert "shared-race" not in error.without_findings
        assert str(error).startswith(error.without_findings)
    assert any(error.findings for error in errors)


def test_errors_come_first_and_a_few_stand_for_all() -> None:
    error = StepLimitExceeded("too long", help="wait")
    assert str(error) == "too long\nhelp: wait"
    severities = ("note", "warning", "error", "note", "error")
    error.findings = tuple(
        Finding(f"rule-{number}", "this", severity=severity) for number, severity in enumerate(severities)
    )
    assert str(error).splitlines()[2:] == [
        "5 earlier findings:",
        "  error[rule-2]: this",
        "  error[rule-4]: this",
        "  warning[rule-1]: this",
        "  and 2 more",
    ]
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - written above
    assert (str(again), again.findings) == (str(error), error.findings)


@pytest.mark.parametrize(("body", "kind"), [(RACING, StepLimitExceeded), (TRAPPING, KernelTrap)])
@pytest.mark.long
def test_explore_counts_schedules_that_are_stopped(body: str, kind: type[SimulationError]) -> None:
    """`explore` keeps errors and findings of stopped schedules, also in workers; errors do not repeat the findings."""
    text = module(body)
    found = explore(text, grid=1, block=64, args=[np.zeros(64, np.uint32)], seeds=SEEDS, step_limit=2000)
    assert {type(error) for error in found.errors.values()} == {kind}
    assert {shown.finding.rule for shown in found.findings} == {"shared-race"}
    schedules = {schedule for shown in found.findings for schedule in shown.schedules}
    assert schedules & set(found.errors)
    if kind is StepLimitExceeded:
        assert set(found.errors) < schedules == set(found.results)
    assert str(found).count("shared-race") == len(found.findings)
    assert str(found).count(f"{kind.__name__}: ") == len(found.errors)
    with ThreadPoolExecutor(1) as workers:
        there = explore(
            text, grid=1, block=64, args=[np.zeros(64, np.uint32)], seeds=SEEDS, step_limit=2000, workers=workers
        )
    assert (there.findings, str(there)) == (found.findings, str(found))


@pytest.mark.parametrize(("body", "reason"), [(RACING, "step limit of 2000 exceeded"), (TRAPPING, "trap")])
def test_the_command_prints_the_findings_and_why_it_stopped(
    body: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(module(body))
    seed = next(seed for seed in SEEDS if (error := stopped(body, seed)) is not None and error.findings)
    given = ["sim", str(path), "--block", "64", "--arg", "u32[64]", "--steps", "2000", "--seed", str(seed)]
    assert main(given) == 1
    told = capsys.readouterr()
    assert told.out.startswith("error[shared-race]: ")
    assert "help: " in told.out
    assert reason in told.err
    assert "shared-race" not in told.err


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("bar.sync 0, 96;", "deadlock"),
        ("mov.u64 %rd1, 64; ld.global.u32 %r1, [%rd1];", "invalid global read"),
    ],
)
def test_without_checks_a_fault_of_the_kernel_is_no_usage_error(
    body: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(module(body))
    assert main(["sim", str(file), "--block", "64", "--arg", "u32[64]", "--checks", "none"]) == 1
    assert reason in capsys.readouterr().err
