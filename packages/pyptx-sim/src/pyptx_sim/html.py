"""Results of runs as HTML, which notebooks show."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.findings import Finding
    from pyptx_sim.outcome import Outcome

_COLORS: Final = {"error": "#b3261e", "warning": "#8a5a00", "note": "#3b5b92"}  # readable on white and on light gray
_MOST: Final = 100  # maximum number of findings shown


def html_of(outcome: Outcome) -> str:
    """Return a summary with a line per finding, which opens to the finding's text. All texts are escaped."""
    return "\n".join(("<div>", *_lines(outcome), "</div>"))


def _lines(outcome: Outcome) -> Iterator[str]:
    yield f"<p><b>{escape(outcome.kernel)}</b>: {escape(outcome.headline)}</p>"
    if outcome.facts:
        yield f"<ul>{''.join(f'<li>{escape(fact)}</li>' for fact in outcome.facts)}</ul>"
    findings = outcome.all_findings
    yield from map(_finding, findings[:_MOST])
    if len(findings) > _MOST:
        yield f"<p>and {len(findings) - _MOST} more; print(result.text) shows all</p>"
    yield from (f"<pre>{escape(stop)}</pre>" for stop in outcome.stops)


def _finding(finding: Finding) -> str:
    label = f'<span style="color: {_COLORS[finding.severity]}"><b>{finding.severity}</b>[{escape(finding.rule)}]</span>'
    rest = escape(finding.summary.partition(": ")[2])
    return f"<details><summary>{label}: {rest}</summary><pre>{escape(str(finding))}</pre></details>"
