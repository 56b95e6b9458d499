"""Hopper's `ptx` calls emit instructions that ptxas accepts; a call for another target raises at the user's line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.shares import share

from pyptx_dsl.errors import InstructionUseError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.trace_context import active
from pyptx_ir.isa.targets import includes
from pyptx_ir.toolchain import assemble, find_tool
from pyptx_ir.toolchain.runner import run

from .calls import TARGETS, Bench, Call, calls

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = [pytest.mark.scaled, pytest.mark.ptxas]

CALLS = calls()
# Tests of rejected calls use every fourth of CALLS, unless `PYPTX_KERNELS=all`: tracing all calls is slow.
SOME = share(CALLS, 4)
ASKED = (9, 0)  # newest PTX version of ptxas 13.0
HERE = "calls.py:"


def runs_on(call: Call, target: str) -> bool:
    if call.needs == "any":
        return True
    listed = TARGETS.get(call.needs)
    return target in listed if listed else includes(target, call.needs)


def trace(calls: Iterable[Call], target: str, version: tuple[int, int]) -> tuple[str, list[str]]:
    """Return the PTX of a kernel traced from the calls, and the error messages of calls that raised."""
    faults: list[str] = []

    def k() -> None:
        bench = Bench()
        here = active()
        for call in calls:
            before = here.statement_count
            try:
                call.run(bench)
            except InstructionUseError as error:
                faults.append(f"{call.name}: refused: {error}")
                continue
            emitted = here.statement_count - before
            if emitted != call.emits:
                faults.append(f"{call.name}: emits {emitted} instructions, not {call.emits}")

    return kernel(k, arch=target, version=version, block=(128, 1, 1)).ptx(), faults


def check(text: str, target: str, folder: Path) -> None:
    """Check a module with ptxas, without code generation, which would take a minute for three thousand MMAs."""
    (folder / "module.ptx").write_text(text, encoding="utf-8")
    arguments = ["-arch=" + target.replace("sm_", "compute_"), "module.ptx", "-o", "nothing"]
    outcome = run(find_tool("ptxas"), arguments, folder)
    assert not outcome.status, outcome.output


@pytest.mark.parametrize("target", ["sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a"])
def test_each_call_emits_its_instructions_and_ptxas_takes_them(target: str, tmp_path: Path) -> None:
    fitting = [call for call in CALLS if runs_on(call, target) and call.since <= ASKED]
    text, faults = trace(fitting, target, ASKED)
    assert not faults, "\n".join(faults)
    check(text, target, tmp_path)
    assert len(fitting) > {"sm_90a": 3000}.get(target, 500)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
def test_ptxas_makes_code_of_them(target: str) -> None:
    fitting = [call for call in CALLS if runs_on(call, target) and call.since <= ASKED and call.columns <= 8]
    text, _ = trace(fitting, target, ASKED)
    assert assemble(text, target, options=("-O0",)).cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100a", "sm_120a"])
def test_elsewhere_each_call_is_refused_at_the_users_line(target: str) -> None:
    foreign = [call for call in SOME if not runs_on(call, target) and call.since <= ASKED]
    _, faults = trace(foreign, target, ASKED)
    assert len(faults) == len(foreign) > 10
    assert not [fault for fault in faults if HERE not in fault or f"the target is {target}" not in fault]


@pytest.mark.parametrize("version", [(8, 0), (8, 2), (8, 5)])
def test_in_an_older_version_what_came_later_is_refused_at_the_users_line(version: tuple[int, int]) -> None:
    fitting = [call for call in SOME if runs_on(call, "sm_90a")]
    newer = [call for call in fitting if call.since > version]
    _, faults = trace(fitting, "sm_90a", version)
    assert [fault.partition(": ")[0] for fault in faults] == [call.name.partition(": ")[0] for call in newer]
    assert all(HERE in fault for fault in faults)
