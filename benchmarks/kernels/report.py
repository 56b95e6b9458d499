"""Report of the runs in a folder: a table (Markdown) and a plot (PNG)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from benchmarks.kernels.protocol import Spread, verdict
from benchmarks.kernels.results import COPY, OURS, Result, Run, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HEAD = ("kernel", "µs", "TB/s", "TFLOP/s", "× copy", "× baselines", "goal µs", "error")
ALIGNMENT = ("---", *["---:"] * 4, "---", "---:", "---:")
NOTE = (
    "µs: median of a call and the middle half of the rounds. × copy, × baselines: speedup over the device's copy of as "
    "many bytes, and over each baseline, measured alternately in one process; *even*: no difference (within 2%, or the "
    "middle half contains 1). Error: the largest difference from the reference over its largest magnitude."
)


def _spread(found: Spread, digits: int) -> str:
    return f"{found.middle:.{digits}f} [{found.low:.{digits}f}–{found.high:.{digits}f}]"


def _baselines(result: Result) -> str:
    measured = [f"{name} {_spread(ratio, 2)} {verdict(ratio)}" for name, ratio in result.speeds.items() if name != COPY]
    return "; ".join([*measured, *(f"{name} absent: {reason}" for name, reason in result.absent.items())]) or "–"


def _cells(result: Result) -> tuple[str, ...]:
    if result.failure or result.left_out:
        told = f"**{result.failure}**" if result.failure else result.left_out
        return (result.case, told, *[""] * (len(HEAD) - 2))
    ours = result.times[OURS]
    goal = "–"
    if result.goal_us is not None:
        goal = f"{result.goal_us:g} {'met' if ours.middle <= result.goal_us else 'missed'}"
    return (
        result.case,
        _spread(ours, 1),
        f"{result.bytes / ours.middle / 1e6:.2f}",
        f"{result.flops / ours.middle / 1e6:.0f}" if result.flops else "–",
        _spread(result.speeds[COPY], 2),
        _baselines(result),
        goal,
        f"{result.error:.1e}",
    )


def row(cells: Sequence[str]) -> str:
    """Return a Markdown table row of these cells."""
    return f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in cells)} |"


def table(runs: Sequence[Run]) -> str:
    """Return the report as Markdown: a section per subject, with the conditions of its measurement."""
    lines = ["# Kernels", "", NOTE]
    for run in runs:
        lines += ["", f"## {run.subject}", ""]
        lines += [f"- {name}: {value}" for name, value in run.where.items()]
        lines += ["", row(HEAD), row(ALIGNMENT), *(row(_cells(result)) for result in run.results)]
    return "\n".join(lines) + "\n"


def plot(runs: Sequence[Run], path: Path) -> None:
    """Plot the speedup of each kernel over its baselines and over the copy; whiskers: middle half of the rounds."""
    figures: Any = importlib.import_module("matplotlib.figure")  # `Any`: matplotlib is not installed where mypy runs
    bars = [
        (f"{result.case} / {name}", ratio, "tab:gray" if name == COPY else "tab:blue")
        for run in runs
        for result in run.results
        for name, ratio in result.speeds.items()
    ]
    figure = figures.Figure(figsize=(10, 1.6 + 0.26 * len(bars)), layout="constrained")
    axes = figure.subplots()
    middles = [ratio.middle for _, ratio, _ in bars]
    whiskers = [
        [ratio.middle - ratio.low for _, ratio, _ in bars],
        [ratio.high - ratio.middle for _, ratio, _ in bars],
    ]
    axes.barh(range(len(bars)), middles, xerr=whiskers, color=[colour for _, _, colour in bars], height=0.7)
    axes.set_yticks(range(len(bars)), [label for label, _, _ in bars], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("speedup over the baseline (gray: device-to-device copy of as many bytes)")
    axes.margins(y=0.01)
    axes.set_title(_caption(runs), fontsize=7, loc="left")
    figure.savefig(path, dpi=150)


def _caption(runs: Sequence[Run]) -> str:
    """Return lines with the runs' devices and versions, each once, and with the date and command of each run."""
    places = (", ".join(run.where.get(name, "") for name in ("device", "driver", "versions")) for run in runs)
    calls = (f"{run.where.get('date', '')}  {run.where.get('command', '')}" for run in runs)
    return "\n".join(dict.fromkeys([*places, *calls]))


def write(folder: Path, *, with_plot: bool = True) -> str:
    """Write `kernels.md` and `kernels.png` from all runs in a folder; return the table."""
    runs = load(folder)
    text = table(runs)
    (folder / "kernels.md").write_text(text, encoding="utf-8")
    if with_plot:
        plot(runs, folder / "kernels.png")
    return text
