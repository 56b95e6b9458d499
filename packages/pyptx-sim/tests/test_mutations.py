"""Fault injection: mutants of kernels, and surveys that run the mutants."""

from __future__ import annotations

import importlib
import inspect
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.syntax import emit, parse
from pyptx_sim import Result, run
from pyptx_sim.errors import InternalError
from pyptx_sim.extension import edits as change
from pyptx_sim.mutations import Mutant, Mutation, mutants, mutations, survey

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_ir.syntax.nodes import Module

# A kernel body with comments after and inside instructions, an instruction on two lines, and two on one line.
TEXT = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<4>;
.shared .align 4 .b8 s[256];
.shared .align 8 .b64 bar;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; // the thread
mov.u32 %r2, s;
mad.lo.u32 %r3, %r1, 4, %r2; setp.eq.u32 %p0, %r1, 0;
@%p0 mbarrier.init.shared.b64 [bar], /* threads */ 64;
bar.sync 0; // all see it
st.shared.u32
    [%r3], %r1;
mbarrier.arrive.shared.b64 _, [bar];
{
WAIT:
mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
@%p1 bra DONE;
bra WAIT;
DONE:
}
sub.u32 %r4, 63, %r1;
mad.lo.u32 %r4, %r4, 4, %r2;
ld.shared.u32 %r5, [%r4];
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r5;
ret;
}
"""
MODULE = parse(TEXT)


def of(name: str) -> list[Mutant]:
    return list(mutants(MODULE, [operator for operator in mutations() if operator.name == name]))


def trial(module: Module) -> Result:
    out = np.zeros(64, np.uint32)
    result = run(module, grid=1, block=64, args=[out], step_limit=10_000)
    if not result.findings:
        np.testing.assert_array_equal(out, np.arange(64)[::-1])
    return result


def test_a_mutant_leaves_every_other_line_where_it_was() -> None:
    before = TEXT.splitlines()
    made = list(mutants(MODULE))
    assert len(made) > 20
    for mutant in made:
        after = emit(mutant.module).splitlines()
        changed = [i for i, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new]
        assert changed, str(mutant)
        assert mutant.line in range(min(changed) - 2, max(changed) + 1), str(mutant)
    assert emit(MODULE) == TEXT


def test_a_mutant_says_what_it_changes() -> None:
    (first, second) = of("change an arrival count")
    assert str(first) == (
        "change an arrival count, line 15: @%p0 mbarrier.init.shared.b64 [bar], 64; -> "
        "@%p0 mbarrier.init.shared.b64 [bar], 65;"
    )
    assert second.after.endswith("63;")
    assert "/* threads */" in emit(first.module)


def test_every_mutant_is_a_module_that_parses_to_itself() -> None:
    for mutant in mutants(MODULE):
        assert parse(emit(mutant.module)) == mutant.module


@pytest.mark.parametrize(
    ("operator", "outcome", "rules"),
    [
        ("drop a barrier", "found", {"mbarrier-init-race"}),
        ("drop a wait", "found", {"shared-race"}),
        ("drop a retry", "found", {"unchecked-mbarrier-wait"}),
        ("change a barrier number", "survived", set[str]()),
        ("drop a store", "found", {"uninitialized-memory"}),
    ],
)
def test_a_survey_says_what_became_of_a_mutant(operator: str, outcome: str, rules: set[str]) -> None:
    verdict = survey(of(operator)[:1], trial)[0]
    assert verdict.outcome == outcome
    assert verdict.rules == rules


def test_a_survey_tells_wrong_numbers_and_kernels_that_do_not_end() -> None:
    halved = Mutation("halve", ("sub",), change.add(1, 1), "another thread's word")
    turned = Mutation("turn", ("bra",), change.drop, "nothing")
    endless = Mutation("repeat", ("mbarrier.try_wait",), change.drop, "the predicate stays")
    verdicts = survey(mutants(MODULE, [halved, turned, endless]), trial)
    kinds = {verdict.mutant.operator.name: verdict.outcome for verdict in verdicts}
    assert kinds["halve"] == "found"
    wrong = Mutation("double", ("mul.wide",), change.scale(2, 0, 1), "all threads access one word")
    assert survey(mutants(MODULE, [wrong]), trial)[0].outcome == "found"
    swapped = Mutation("swap", ("sub",), change.add(1, -1, 0), "a word one position off")
    assert [verdict.outcome for verdict in survey(mutants(MODULE, [swapped]), trial)] == ["found", "survived"]


def test_a_fault_of_the_simulator_ends_a_survey() -> None:
    def faulty(module: Module) -> Result:
        raise InternalError(f"KeyError in the simulator, at a mutant of {len(emit(module))} characters")

    with pytest.raises(InternalError):
        survey(of("change an arrival count"), faulty, workers=1)


@pytest.mark.long
def test_workers_survey_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Worker processes import the trial function, from a module whose name is unique among all tests.
    imports = "from __future__ import annotations\nimport numpy as np\nfrom pyptx_sim import run\n"
    (tmp_path / "trial_of_mutants.py").write_text(imports + inspect.getsource(trial))
    monkeypatch.syspath_prepend(tmp_path)
    same_trial = importlib.import_module("trial_of_mutants").trial
    some = [mutant for mutant in mutants(MODULE) if mutant.operator.name in ("change a barrier number", "drop a wait")]
    expected = survey(some, same_trial)
    assert {verdict.outcome for verdict in expected} == {"found", "survived"}
    assert survey(some, same_trial, workers=2) == expected
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert survey(some, same_trial, workers=pool) == expected


def test_an_operator_applies_by_its_opcodes() -> None:
    one = Mutation("one", ("mbarrier.try_wait|test_wait", "bar.*.aligned"), change.drop, "", having="parity|aligned")
    given = (
        "mbarrier.try_wait.parity.b64",
        "mbarrier.try_wait.b64",
        "bar.sync.aligned",
        "bar.sync",
        "barrier.sync.aligned",
    )
    assert [one.applies(tuple(opcode.split("."))) for opcode in given] == [True, False, True, False, False]


def test_every_operator_has_a_name_of_its_own_and_says_what_it_breaks() -> None:
    assert len({operator.name for operator in mutations()}) == len(mutations())
    assert all(operator.breaks and operator.opcodes for operator in mutations())
