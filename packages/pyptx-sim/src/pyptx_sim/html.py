"""Results of runs as HTML, which notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import element, notebook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.drawing import Markup
    from pyptx_sim.findings import Finding
    from pyptx_sim.outcome import Outcome

_MOST: Final = 100  # maximum number of findings shown
_STYLE: Final = """\
.pyptx details pre{margin:2px 0 8px 16px}
.pyptx .error{color:#b3261e}.pyptx .warning{color:#8a5a00}.pyptx .note{color:#3b5b92}
@media (prefers-color-scheme:dark){
.pyptx .error{color:#ff8a80}.pyptx .warning{color:#f0c060}.pyptx .note{color:#9db8e8}}
"""


def html_of(outcome: Outcome) -> str:
    """Return a summary with a line per finding, which opens to the finding's text, and the timeline, if one was drawn.

    All texts are escaped.
    """
    return notebook(*_parts(outcome), style=_STYLE)


def _parts(outcome: Outcome) -> Iterator[Markup]:
    yield element("p", element("b", outcome.kernel), f": {outcome.headline}")
    if outcome.facts:
        yield element("ul", *(element("li", fact) for fact in outcome.facts))
    findings = outcome.all_findings
    yield from map(_finding, findings[:_MOST])
    if len(findings) > _MOST:
        yield element("p", f"and {len(findings) - _MOST} more; print(result.text) shows all")
    yield from (element("pre", stop) for stop in outcome.stops)
    if outcome.timeline is not None:
        yield outcome.timeline


def _finding(finding: Finding) -> Markup:
    head = element("span", element("b", finding.severity), f"[{finding.rule}]", class_=finding.severity)
    summary = element("summary", head, ": ", finding.summary.partition(": ")[2])
    return element("details", summary, element("pre", str(finding)))
