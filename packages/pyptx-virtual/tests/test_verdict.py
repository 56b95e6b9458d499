"""Verdicts of sessions: findings of several launches, texts and Markdown."""

from __future__ import annotations

from pyptx_ir.plugins.rows import Frame
from pyptx_sim import Finding, Result, Statistics
from pyptx_sim.context import DeviceLaunch
from pyptx_virtual.session import Session, counts

FINDING = Finding("global-race", "data race on x", 7, (Frame("kernel.py", 3, "k"),))


def launch(number: int, *findings: Finding, kernel: str = "k", error: BaseException | None = None) -> DeviceLaunch:
    result = None if error else Result(findings, Statistics(100, 1, 1, 1, 1))
    return DeviceLaunch(number, kernel, 0, (), (1, 1, 1), result=result, error=error, seconds=0.5)


def verdict(*launches: DeviceLaunch):
    session = Session()
    for each in launches:
        session.add(each)
    return session.verdict()


def test_a_finding_of_several_launches_is_listed_once() -> None:
    other = Finding("global-race", "data race on y", 9)
    found = verdict(launch(0, FINDING), launch(1, FINDING, other), launch(2), launch(3, FINDING, kernel="other"))
    assert [finding.message for finding in found.kept["k"]] == ["data race on x", "data race on y"]
    assert found.kept["k"][0].notes == ("in 2 launches of k",)
    assert (found.launches, found.failed) == (4, True)
    assert "4 launches of 2 kernels on a GPU: 400 instructions in 2.0 s" in found.text("a GPU")
    assert "  k: 2 errors in 3 launches" in found.text("a GPU")


def test_notes_and_warnings_do_not_fail_a_session() -> None:
    note = Finding("global-race", "benign", 7, severity="note")
    warning = Finding("global-race", "odd", 8, severity="warning")
    found = verdict(launch(0, note, warning))
    assert not found.failed
    assert counts(found.kept["k"]) == "1 note, 1 warning"


def test_a_launch_that_was_stopped_is_counted() -> None:
    found = verdict(launch(0), launch(1, error=RuntimeError("trap")))
    assert "  k: stopped 1 launch in 2 launches" in found.text("a GPU")


def test_text_of_findings_cannot_leave_its_block_in_markdown() -> None:
    hostile = Finding("global-race", "data race on ```x``` </details><script>", 7)
    text = verdict(launch(0, hostile)).markdown("a GPU")
    assert "| `k` | 1 | 100 | 1 error |" in text
    assert "\n````text\nerror[global-race]: data race on ```x``` </details><script>" in text
    assert text.rstrip().endswith("\n````")


def test_a_session_without_launches_has_no_table() -> None:
    assert verdict().markdown("a GPU") == "### pyptx: 0 launches on a GPU\n\n"
