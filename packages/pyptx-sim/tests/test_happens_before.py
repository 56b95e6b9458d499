"""Each rule by which two accesses are ordered, guarded: a program without a race has a finding if the rule is deleted.

A rule is deleted by replacing lines in the source of its function, or the whole function.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx_sim.happens_before.async_clocks import AsyncClocks
from pyptx_sim.happens_before.causality import Causality
from pyptx_sim.happens_before.clocks import WarpClocks
from pyptx_sim.happens_before.observations import Observations
from pyptx_sim.happens_before.phases import Phases
from pyptx_sim.happens_before.reference.programs import program
from pyptx_sim.happens_before.relaxed import Relaxed
from pyptx_sim.happens_before.release_clocks import ReleaseClocks
from pyptx_sim.rules.async_races import AsyncRaces
from pyptx_sim.rules.dependents import Dependents

from .litmus.kernels import executed
from .ptx_text import execute
from .streams import COPY, RELEASE, WAIT, WRITE, chained

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_sim import Finding

    Findings = tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A program that the rule orders, and the function that applies it: with `code`, these lines of it, else all."""

    run: Callable[[], Findings]
    owner: type
    function: str
    code: str = ""
    instead: str = "pass"

    def delete(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the lines by `instead`, or the function by one that does nothing."""
        function = getattr(self.owner, self.function)
        if not self.code:
            monkeypatch.setattr(self.owner, self.function, lambda *_, **__: None)
            return
        source = dedent(inspect.getsource(function))
        assert source.count(self.code) == 1, self.code
        names = dict(vars(sys.modules[function.__module__]))
        text = source.replace(self.code, self.instead)
        exec(compile(text, self.function, "exec", annotations.compiler_flag), names)  # noqa: S102 - our own source
        monkeypatch.setattr(self.owner, self.function, names[self.function])


def litmus(text: str, **schedule: Any) -> Callable[[], Findings]:
    """Return a function that runs a litmus program and returns its findings."""
    return lambda: executed(program(text), **{"seed": 0, **schedule}).findings


def body(text: str, *arguments: Any, **options: Any) -> Callable[[], Findings]:
    """Return a function that runs a kernel body; by default, two warps write and read the first word of an array."""

    def run() -> Findings:
        given = [np.array(each) for each in arguments or (np.zeros(256, np.uint32),)]
        return execute(text, *given, **{"block": 64, **options}).findings

    return run


def handed_over(by: str, **options: Any) -> Callable[[], Findings]:
    """Return a function that runs a kernel in which warp 0 writes a word, executes `by`, and warp 1 reads the word."""
    return body(f"{WARPS}{by}\n@%p2 ld.global.u32 %r5, [%rd0];\n@%p2 st.global.u32 [%rd0+4], %r5;", **options)


WARPS = """
setp.eq.u32 %p1, %r0, 0;
setp.eq.u32 %p2, %r0, 32;
setp.lt.u32 %p3, %r0, 32;
"""
WRITTEN = "@%p1 st.global.u32 [%rd0], 7;\n"
MBARRIER = {"before": ".shared .align 8 .b64 bar;"}
INIT = "@%p1 mbarrier.init.shared.b64 [bar], 1;\nbar.sync 0;\n"
ARRIVE = "@%p1 mbarrier.arrive{}.shared.b64 %rd5, [bar];\n"
TRY_WAIT = "WAIT:\nmbarrier.try_wait.parity{}.shared.b64 %p4, [bar], 0;\n@!%p4 bra WAIT;\n"
RELAXED = ".relaxed.cta"
FENCE = "fence.acq_rel.cta;\n"
CTAS = """
setp.eq.u32 %p1, %r0, 0;
mov.u32 %r1, %cluster_ctarank;
setp.eq.and.u32 %p2, %r1, 1, %p1;
setp.eq.and.u32 %p1, %r1, 0, %p1;
"""
# Thread `tid` copies a word of the second argument to shared memory; %r1 is its address.
TILE = {"parameters": ".param .u64 out, .param .u64 x", "before": ".shared .align 128 .b8 s[512];\n.shared .b64 bar;"}
COPIED = """
ld.param.u64 %rd2, [x];
mov.u32 %r2, s;
mad.lo.u32 %r1, %r0, 4, %r2;
mad.wide.u32 %rd3, %r0, 4, %rd2;
"""
WORDS = np.zeros(128, np.uint32)
BULK = """
setp.eq.u32 %p0, %r0, 0;
@%p0 mbarrier.init.shared.b64 [bar], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
@%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 256, [bar];
"""
STORED = "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r2], 256;\n@%p0 cp.async.bulk.commit_group;\n"
PASSED_ON = "st x; st.release.gpu f || atom.relaxed.gpu f || poll.acquire.gpu f; ld x"
hopper = pytest.mark.hopper

RULES: dict[str, Any] = {
    "program order of a lane": Rule(litmus("st x; ld x"), Causality, "ordered", "ordered |= warps == others"),
    "bar.warp.sync": Rule(litmus("st x; bar.warp , bar.warp; ld x"), WarpClocks, "meet_lanes"),
    "bar.sync": Rule(litmus("st x; bar | bar; ld x"), WarpClocks, "meet"),
    "bar.arrive": Rule(handed_over(f"{WRITTEN}@%p3 bar.arrive 1, 64;\n@!%p3 bar.sync 1, 64;"), Phases, "signal"),
    "mbarrier.arrive": Rule(
        handed_over(f"{INIT}{WRITTEN}{ARRIVE.format('')}{TRY_WAIT.format('')}", **MBARRIER), Phases, "signal"
    ),
    "mbarrier.try_wait": Rule(
        handed_over(f"{INIT}{WRITTEN}{ARRIVE.format('')}{TRY_WAIT.format('')}", **MBARRIER), Phases, "acquire"
    ),
    "a fence before mbarrier.arrive.relaxed": Rule(
        handed_over(f"{INIT}{WRITTEN}{FENCE}{ARRIVE.format(RELAXED)}{TRY_WAIT.format(RELAXED)}{FENCE}", **MBARRIER),
        Relaxed,
        "arrive",
    ),
    "a fence after mbarrier.try_wait.relaxed": Rule(
        handed_over(f"{INIT}{WRITTEN}{FENCE}{ARRIVE.format(RELAXED)}{TRY_WAIT.format(RELAXED)}{FENCE}", **MBARRIER),
        Relaxed,
        "fence",
    ),
    "barrier.cluster.arrive": pytest.param(
        Rule(
            handed_over(
                f"{CTAS}{WRITTEN}barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;",
                grid=2,
                cluster=(2, 1, 1),
            ),
            Phases,
            "signal",
        ),
        marks=hopper,
    ),
    **{
        f"st.release.{scope}": Rule(
            litmus(f"st x; st.release.{scope} f {bars} poll.acquire.{scope} f; ld x"),
            ReleaseClocks,
            "_releasing",
            "if order.releases:",
            "if False:",
        )
        for scope, bars in (("cta", "|"), ("cluster", "||"), ("gpu", "|||"), ("sys", "|||"))
    },
    **{
        f"ld.acquire.{scope}": Rule(
            litmus(f"st x; st.release.{scope} f {bars} poll.acquire.{scope} f; ld x"),
            ReleaseClocks,
            "_visit",
            "if order.acquires and self._taken:",
            "if False:",
        )
        for scope, bars in (("cta", "|"), ("cluster", "||"), ("gpu", "|||"), ("sys", "|||"))
    },
    **{
        f"a fence before st.relaxed.{scope}": Rule(
            litmus(f"st x; fence.acq_rel.{scope}; st.relaxed.{scope} f {bars} poll.acquire.{scope} f; ld x"),
            ReleaseClocks,
            "fence",
        )
        for scope, bars in (("cta", "|"), ("cluster", "||"), ("gpu", "|||"), ("sys", "|||"))
    },
    "a fence after ld.relaxed": Rule(
        litmus("st x; st.release.gpu f || poll.relaxed.gpu f; fence.acq_rel.gpu; ld x"),
        ReleaseClocks,
        "fence",
        "self._learn_all(warp, lane, level)",
    ),
    "an atomic passes on the release clock that it reads": Rule(
        litmus(PASSED_ON), ReleaseClocks, "_visit", "message = _joined(found.message, message)"
    ),
    "observation of a strong write": Rule(litmus("st.relaxed.gpu x || poll.relaxed.gpu x; ld x"), Observations, "read"),
    "strong accesses whose scopes include both threads": Rule(
        litmus("st.relaxed.gpu x ||| ld.relaxed.gpu x"),
        Causality,
        "mutual",
        "return np.ones(len(last), np.bool_)",
        "return np.zeros(len(last), np.bool_)",
    ),
    "cp.async.wait_group": Rule(
        body(
            f"{COPIED}cp.async.ca.shared.global [%r1], [%rd3], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;\n"
            "ld.shared.u32 %r5, [%r1];\nst.global.u32 [%rd1], %r5;",
            WORDS,
            WORDS,
            **TILE,
        ),
        AsyncClocks,
        "waited",
    ),
    "completion on an mbarrier": pytest.param(
        Rule(
            body(
                f"{COPIED}{BULK}{TRY_WAIT.format('')}ld.shared.u32 %r5, [%r1];\nst.global.u32 [%rd1], %r5;",
                WORDS,
                WORDS,
                **TILE,
            ),
            AsyncClocks,
            "completed",
        ),
        marks=hopper,
    ),
    "fence.proxy.async": pytest.param(
        Rule(
            body(
                f"{COPIED}setp.eq.u32 %p0, %r0, 0;\nst.shared.u32 [%r1], %r0;\nfence.proxy.async.shared::cta;\n"
                f"bar.sync 0;\n@%p0 {STORED}@%p0 cp.async.bulk.wait_group 0;",
                WORDS,
                WORDS,
                **TILE,
            ),
            AsyncRaces,
            "proxy_fence",
        ),
        marks=hopper,
    ),
    "griddepcontrol.wait": pytest.param(
        Rule(lambda: chained(RELEASE + WRITE, WAIT + COPY)[2].findings, Dependents, "complete"), marks=hopper
    ),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_orders_the_accesses_and_without_it_they_are_a_finding(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rule.run() == ()
    rule.delete(monkeypatch)
    assert rule.run() != ()


STORE_BUFFERING = (
    "st.relaxed.gpu x; fence.sc.gpu; ld.relaxed.gpu y ||| st.relaxed.gpu y; fence.sc.gpu; ld.relaxed.gpu x"
)


def test_the_order_of_fence_sc_forbids_an_outcome_that_some_run_shows_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def seen() -> set[tuple[int, ...]]:
        return {executed(program(STORE_BUFFERING), seed=seed).outcome.read for seed in range(40)}

    assert (0, 0) not in seen()
    rule = Rule(litmus(STORE_BUFFERING), ReleaseClocks, "fence", "self._learn(warp, mask, level, self._in_order)")
    rule.delete(monkeypatch)
    assert (0, 0) in seen()
