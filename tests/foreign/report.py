"""The page `docs/foreign-kernels.md`: what ran, when, and what came of it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from .judgements import KNOWN, fitting
from .languages import LANGUAGES, ROOT
from .running import SCHEDULES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .languages import Language
    from .running import Outcome

PAGE = ROOT / "docs" / "foreign-kernels.md"
_HEAD = """\
# Kernels of other compilers

`nox -s foreign` compiles the kernels of `tests/foreign/sources`, which are written in the languages of other compilers,
without a GPU, and runs what comes out on the simulator, unedited, with all checks. Results are held against references
in double precision, under {schedules} schedules: seeds 0 to {last}, each with asynchronous work that completes at once,
and as late as it may. *Clean* means that every result is right, and that no rule finds an error or a warning. The
session writes this page; it last did on {date}.
"""
_BY = {"letter": "by the letter", "waits": "to be mended"}
_UNAVAILABLE = """\
## What is not here

| what | why |
|---|---|
{rows}
"""
UNAVAILABLE = (
    ("Triton's block pointers", "Triton 3.9 has removed them: `tl.make_block_ptr` refers to tensor descriptors"),
    ("Triton's warp specialisation of a host's map whose rows two warpgroups share",
     "Triton 3.9 fails in its pass `NVGPUWarpSpecialization`: the descriptor keeps the whole box"),
    ("products of two blocks in Triton", "Triton 3.9 never chooses `.cta_group::2` by itself, where the others say it"),
    ("`tcgen05.shift`", "the manual does not say how far down rows move, and no compiler here uses it"),
)  # fmt: skip


def page(outcomes: Mapping[str, Outcome]) -> str:
    """Return the page of all kernels, by `language/source/name.target`."""
    ran = [language for language in LANGUAGES if any(name.startswith(f"{language.name}/") for name in outcomes)]
    today = dt.datetime.now(dt.UTC).date()
    head = _HEAD.format(schedules=len(SCHEDULES), last=SCHEDULES[-1]["seed"], date=today)
    parts = [head, _summary(ran, outcomes), _reasons(outcomes)]
    parts += [_table(language, outcomes) for language in ran]
    rows = "\n".join(f"| {what} | {why} |" for what, why in UNAVAILABLE)
    return "\n".join([*parts, _UNAVAILABLE.format(rows=rows)])


def _of(language: Language, outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    return {name: outcome for name, outcome in outcomes.items() if name.startswith(f"{language.name}/")}


def _summary(languages: Sequence[Language], outcomes: Mapping[str, Outcome]) -> str:
    lines = ["| language | compiler | kernels | modules | right | clean |", "|---|---|---|---|---|---|"]
    for language in languages:
        mine = _of(language, outcomes)
        kernels = len({name.rpartition(".")[0] for name in mine})
        right = sum(outcome.right for outcome in mine.values())
        clean = sum(outcome.clean for outcome in mine.values())
        words = (language.title, f"{language.requirement} {language.version}", kernels, len(mine), right, clean)
        lines.append(f"| {' | '.join(map(str, words))} |")
    return "\n".join(lines) + "\n"


def _reasons(outcomes: Mapping[str, Outcome]) -> str:
    found = [fitting(name, fault) for name, outcome in outcomes.items() for fault in outcome.faults]
    lines = ["## What is found, and why", "", "| what | verdict | reason |", "|---|---|---|"]
    for row in KNOWN:
        if row in found:
            rules = ", ".join(f"`{rule}`" for rule in sorted(row.rules))
            lines.append(f"| {rules} | {_BY[row.verdict]} | {row.reason} |")
    return "\n".join(lines) + "\n"


def _table(language: Language, outcomes: Mapping[str, Outcome]) -> str:
    rows: dict[str, list[str]] = {}
    for name, outcome in _of(language, outcomes).items():
        kernel, _, target = name.partition("/")[2].rpartition(".")
        rows.setdefault(kernel, []).append(f"{target} {_said(name, outcome)}")
    lines = [f"## {language.title}", "", "| kernel | outcome |", "|---|---|"]
    lines += [f"| {kernel} | {'; '.join(_together(said))} |" for kernel, said in rows.items()]
    return "\n".join(lines) + "\n"


def _together(said: Sequence[str]) -> list[str]:
    """Join targets of which the same is said."""
    targets: dict[str, list[str]] = {}
    for each in said:
        target, _, words = each.partition(" ")
        targets.setdefault(words, []).append(target)
    return [f"{', '.join(names)}: {words}" for words, names in targets.items()]


def _said(name: str, outcome: Outcome) -> str:
    if outcome.clean:
        return "clean"
    words = [f"`{fault.kind}`" + (f" ({_BY[row.verdict]})" if row else "")
             for fault in outcome.faults for row in (fitting(name, fault),)]  # fmt: skip
    return f"{'right' if outcome.right else 'not right'}, {', '.join(words)}"
