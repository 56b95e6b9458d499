"""`ptx.tcgen05` calls emit instructions that ptxas accepts; a call for another target raises at the user's line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.shares import share

from pyptx_dsl import ptx
from pyptx_dsl.errors import InstructionUseError, OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.trace_context import active
from pyptx_ir.toolchain import assemble, find_tool
from pyptx_ir.toolchain.runner import run

from .calls import DEEP, Bench, Call, calls

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

pytestmark = [pytest.mark.scaled, pytest.mark.ptxas]

CALLS = calls()
# Tests of rejected calls use every fourth of CALLS, unless `PYPTX_KERNELS=all`: tracing all calls is slow.
SOME = share(CALLS, 4)
ASKED = (9, 0)  # newest PTX version of ptxas 13.0
HERE = "calls.py:"
TARGETS = ("sm_100a", "sm_103a", "sm_110a")
FAMILIES = ("sm_100f", "sm_103f", "sm_110f")  # family-specific targets, with fewer tcgen05 features than sm_*a targets


def trace(calls: Iterable[Call], target: str, version: tuple[int, int], group: int) -> tuple[str, list[str]]:
    """Return the PTX of a kernel traced from the calls, and the error messages of calls that raised."""
    faults: list[str] = []

    def k() -> None:
        bench = Bench(group)
        here = active()
        for call in calls:
            before = here.statement_count
            try:
                call.run(bench)
            except (InstructionUseError, OperandError) as error:
                faults.append(f"{call.name}: refused: {error}")
                continue
            emitted = here.statement_count - before
            if emitted != call.emits:
                faults.append(f"{call.name}: emits {emitted} instructions, not {call.emits}")
        ptx.ret()

    cluster = {"cluster": 2} if group == 2 else {}
    return kernel(k, arch=target, version=version, block=(128, 1, 1), **cluster).ptx(), faults


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("target", TARGETS)
def test_each_call_emits_its_instructions_and_ptxas_takes_them(target: str, group: int, tmp_path: Path) -> None:
    fitting = [call for call in CALLS if target in call.on and group in call.groups]
    text, faults = trace(fitting, target, ASKED, group)
    assert not faults, "\n".join(faults)
    assert judged(text, target, tmp_path) == ""
    assert len(fitting) > 700


def judged(text: str, target: str, folder: Path) -> str:
    """Return the error messages of ptxas for a module, without code generation."""
    (folder / "module.ptx").write_text(text, encoding="utf-8")
    arguments = ["-arch=" + target.replace("sm_", "compute_"), "module.ptx", "-o", "nothing"]
    outcome = run(find_tool("ptxas"), arguments, folder)
    return outcome.output if outcome.status else ""


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("target", FAMILIES)
def test_what_is_taken_for_a_family_ptxas_takes(target: str, group: int, tmp_path: Path) -> None:
    fitting = [call for call in CALLS if group in call.groups]
    text, faults = trace(fitting, target, ASKED, group)
    assert all("refused" in fault and target in fault and HERE in fault for fault in faults), faults[:3]
    assert 50 < len(faults) < len(fitting) // 2
    assert judged(text, target, tmp_path) == ""


@pytest.mark.parametrize("target", [*TARGETS, *FAMILIES])
def test_what_is_refused_on_a_target_ptxas_refuses_there(target: str, tmp_path: Path) -> None:
    """On each target, ptxas rejects the same kinds and options as `ptx` calls, except K = 96 in idesc."""
    ours = [call for call in CALLS if 1 in call.groups]
    refused = {fault.partition(": refused")[0] for fault in trace(ours, target, ASKED, 1)[1]}
    foreign = {call.name.rstrip("0123456789x "): call for call in ours if call.name in refused and call.on != DEEP}
    frees = next(call for call in ours if call.name == "dealloc 32")
    assert len(foreign) > 2
    for call in list(foreign.values())[:24]:
        home = call.on[0]
        text = trace([call, frees], home, ASKED, 1)[0].replace(f".target {home}", f".target {target}")
        assert judged(text, target, tmp_path), f"{call.name} on {target}"


AT_ONCE = 16


@pytest.mark.parametrize("group", [1, 2])
def test_ptxas_makes_code_of_them(group: int) -> None:
    fitting = [call for call in SOME if "sm_100a" in call.on and group in call.groups]
    text, _ = trace(fitting, "sm_100a", ASKED, group)
    assert assemble(text, "sm_100a", options=("-O0",)).cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize("target", [*TARGETS, "sm_90a", "sm_120a"])
def test_elsewhere_each_call_is_refused_at_the_users_line(target: str) -> None:
    calls = CALLS if target in TARGETS else SOME
    foreign = [call for call in calls if target not in call.on and 1 in call.groups]
    # Several kernels trace the calls: the tiles of all calls together exceed the shared memory of sm_120a.
    parts = (foreign[first : first + AT_ONCE] for first in range(0, len(foreign), AT_ONCE))
    faults = [fault for part in parts for fault in trace(part, target, ASKED, 1)[1]]
    refused = {fault.partition(": refused")[0] for fault in faults}
    assert [call.name for call in foreign if call.name not in refused] == []
    assert len(faults) == len(foreign) > 5
    assert not [fault for fault in faults if HERE not in fault or target not in fault]


@pytest.mark.parametrize("version", [(8, 6), (8, 7), (8, 8)])
def test_in_an_older_version_what_came_later_is_refused_at_the_users_line(version: tuple[int, int]) -> None:
    fitting = [call for call in SOME if "sm_100a" in call.on and 1 in call.groups]
    newer = [call for call in fitting if call.since > version]
    _, faults = trace(fitting, "sm_100a", version, 1)
    assert [fault.partition(": refused")[0] for fault in faults] == [call.name for call in newer]
    assert all(HERE in fault for fault in faults)
