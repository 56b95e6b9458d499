"""The page `docs/foreign-kernels.md`: the kernels that ran, their outcomes, and the date of the run."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from .accepted_findings import ACCEPTED, fitting
from .languages import COMPILERS, LANGUAGES, ROOT
from .running import FEWER, SCHEDULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .languages import Compiler
    from .running import Outcome

PAGE = ROOT / "docs" / "foreign-kernels.md"
_HEAD = """\
# Kernels of other compilers

`nox -s foreign` compiles the kernels of `tests/foreign/sources`, which are written in the languages of other compilers,
without a GPU, and runs the PTX on the simulator, unedited, with all checks. Results are compared with references
in double precision, under {schedules} schedules: seeds 0 to {last}, each with asynchronous operations that complete at
once, and only when a thread waits. Kernels of older compiler releases run under {fewer} of these schedules. *Clean*
means that every result is right, and that no rule reports an error or a warning. `nox -s foreign` writes this page; it
last ran on {date}.
"""
_BY = {"letter": "undefined by the manual", "lacks": "not compiled"}
_UNAVAILABLE = """\
## What is not here

| what | why |
|---|---|
{rows}
"""
UNAVAILABLE = (
    ("Triton's block pointers",
     "Triton 3.9 has removed block pointers: the error of `tl.make_block_ptr` refers to tensor descriptors"),
    ("Triton's warp specialization with a tensor map of the host whose box two warpgroups share",
     "Triton 3.9 fails in its pass `NVGPUWarpSpecialization`, which does not split the map's box for warpgroups"),
    ("MMAs of CTA pairs in Triton",
     "Triton 3.9 never chooses `.cta_group::2` by itself; the other compilers have an option for it"),
    ("`tcgen05.shift`", "the manual does not say how far down rows move, and no compiler here uses it"),
)  # fmt: skip


def page(outcomes: Mapping[str, Outcome]) -> str:
    """Return the page of all kernels, by `compiler/source/name.target`."""
    today = dt.datetime.now(dt.UTC).date()
    head = _HEAD.format(schedules=len(SCHEDULES), fewer=len(FEWER), last=SCHEDULES[-1]["seed"], date=today)
    parts = [head, _summaries(outcomes), _reasons(outcomes)]
    parts += [_table(language, outcomes) for language in LANGUAGES if _ran(language, outcomes)]
    rows = "\n".join(f"| {what} | {why} |" for what, why in UNAVAILABLE)
    return "\n".join([*parts, _UNAVAILABLE.format(rows=rows)])


def _ran(language: str, outcomes: Mapping[str, Outcome]) -> list[Compiler]:
    """Return the compilers of a language that have outcomes, newest first."""
    return [each for each in COMPILERS if each.language == language and _of(each, outcomes)]


def _of(compiler: Compiler, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    return {name: outcome for name, outcome in outcomes.items() if name.startswith(f"{compiler.name}/")}


def _counts(compiler: Compiler, outcomes: Mapping[str, Outcome]) -> tuple[int, int, int, int]:
    """Return the numbers of a compiler's modules: all, compiled, with right outputs, and without findings."""
    mine = _of(compiler, outcomes).values()
    compiled = sum(not outcome.refused for outcome in mine)
    return len(mine), compiled, sum(each.right for each in mine), sum(each.clean for each in mine)


def summary(compiler: Compiler, outcomes: Mapping[str, Outcome]) -> str:
    """Return one line about a compiler: its version, and numbers of modules: compiled, with right outputs, clean."""
    asked, compiled, right, clean = _counts(compiler, outcomes)
    counts = f"{compiled} of {asked} modules compiled, {right} right, {clean} clean"
    return f"{compiler.name}: {compiler.requirement} {compiler.version} for {', '.join(compiler.targets)}: {counts}"


def _summaries(outcomes: Mapping[str, Outcome]) -> str:
    head = ("language", "compiler", "kernels", "modules", "compiled", "right", "clean")
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for compiler in (each for language in LANGUAGES for each in _ran(language, outcomes)):
        kernels = len({name.rpartition(".")[0] for name in _of(compiler, outcomes)})
        counts = _counts(compiler, outcomes)
        words = (compiler.title, f"{compiler.requirement} {compiler.version}", kernels, *counts)
        lines.append(f"| {' | '.join(map(str, words))} |")
    return "\n".join(lines) + "\n"


def _reasons(outcomes: Mapping[str, Outcome]) -> str:
    found = [fitting(name, fault) for name, outcome in outcomes.items() for fault in outcome.faults]
    lines = ["## What is found, and why", "", "| what | verdict | reason |", "|---|---|---|"]
    for row in ACCEPTED:
        if row in found:
            rules = ", ".join(f"`{rule}`" for rule in sorted(row.rules))
            lines.append(f"| {rules} | {_BY[row.verdict]} | {row.reason} |")
    return "\n".join(lines) + "\n"


def _table(language: str, outcomes: Mapping[str, Outcome]) -> str:
    ran = _ran(language, outcomes)
    kernels = {name.partition("/")[2].rpartition(".")[0] for each in ran for name in _of(each, outcomes)}
    lines = [f"## {LANGUAGES[language]}", "", f"| kernel | {' | '.join(each.name for each in ran)} |"]
    lines.append("|---" * (len(ran) + 1) + "|")
    for kernel in sorted(kernels):
        cells = (_cell(f"{each.name}/{kernel}.", outcomes) for each in ran)
        lines.append(f"| {kernel} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(begin: str, outcomes: Mapping[str, Outcome]) -> str:
    """Return a table cell: the outcome of one compiler's kernel for each target."""
    of = {name: outcome for name, outcome in outcomes.items() if name.startswith(begin)}
    return "; ".join(_together([f"{name.removeprefix(begin)} {_said(name, outcome)}" for name, outcome in of.items()]))


def _together(said: Sequence[str]) -> list[str]:
    """Return the outcomes as text, with targets of equal outcomes merged."""
    targets: dict[str, list[str]] = {}
    for each in said:
        target, _, words = each.partition(" ")
        targets.setdefault(words, []).append(target)
    return [f"{', '.join(names)}: {words}" for words, names in targets.items()]


def _said(name: str, outcome: Outcome) -> str:
    if outcome.clean:
        return "clean"
    if outcome.refused:
        return "not compiled"
    words = [f"`{fault.kind}`" + (f" ({_BY[row.verdict]})" if row else "")
             for fault in outcome.faults for row in (fitting(name, fault),)]  # fmt: skip
    return f"{'right' if outcome.right else 'not right'}, {', '.join(words)}"
