"""Complete from the outside: forms that people wrote down, not the table, pass exactly where they should.

`forms/*.txt` hold them, under headings: the PTX version and the targets that first have a form, or `refused`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyptx_ir.isa.check import TABLE_VERSION
from pyptx_ir.isa.refusals import unavailable
from pyptx_ir.isa.rows import InstructionRow, row
from pyptx_ir.isa.targets import TARGETS, find_target, includes
from pyptx_ir.toolchain.finder import find_tool

from .cases import Case
from .plan import FIRST_MINOR_OF_TURING, targets_of
from .ptxas import Judge
from .report import Report, opinion

ROW = row("form", manual="forms that people wrote down")
FOLDER = Path(__file__).parent / "forms"
FILES = sorted(FOLDER.glob("*.txt"))
HEADING = re.compile(r"\[(?:(?P<major>\d+)\.(?P<minor>\d+)(?P<targets>[ \w]*)|refused)\]")
# One target of each generation and each suffix: `nox -s oracle` asks about all.
ASKED = {"sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_107a", "sm_110f", "sm_121a"}


@dataclass(frozen=True, slots=True)
class Written:
    """A form, and the row that has its version and targets; None if nobody has it."""

    text: str
    home: InstructionRow | None

    def legal(self, target: str, version: tuple[int, int]) -> bool:
        """Tell whether the form should pass."""
        return self.home is not None and unavailable(self.home, ("form",), target, version) is None


def written(path: Path) -> list[Written]:
    found: list[Written] = []
    home: InstructionRow | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = HEADING.fullmatch(line)
        if heading:
            since = (int(heading["major"] or 0), int(heading["minor"] or 0))
            home = row("form", since=since, targets=(heading["targets"] or "").split()) if heading["major"] else None
        elif line and not line.startswith("#"):
            found.append(Written(f"{line};", home))
    return found


def before(version: tuple[int, int]) -> tuple[int, int]:
    major, minor = version
    return (major, minor - 1) if minor else {9: (8, 8), 8: (7, 8), 7: (6, 5)}[major]


def oldest_home(home: InstructionRow) -> str:
    """Return the target of a form that PTX knew first."""
    fit = [
        target
        for target in TARGETS
        if target.number >= find_target("sm_75").number
        and not target.until
        and (not home.targets or any(includes(target, need) for need in home.targets))
    ]
    return min(fit, key=lambda target: target.since).name


def questions(forms: list[Written], newest: tuple[int, int]) -> dict[tuple[str, tuple[int, int]], list[Written]]:
    """Return what to ask, by target and version: all forms of the newest version, and each at its first and before."""
    asked = {(target.name, newest): list(forms) for target in targets_of(newest) if target.name in ASKED}
    for form in forms:
        if form.home is None or form.home.since > newest:
            continue
        target = oldest_home(form.home)
        for version in (form.home.since, before(form.home.since)):
            if version >= max(find_target(target).since, FIRST_MINOR_OF_TURING):
                asked.setdefault((target, version), []).append(form)
    return asked


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_table_takes_each_form_from_its_version_on_and_on_its_targets_alone(path: Path) -> None:
    for (target, version), forms in questions(written(path), TABLE_VERSION).items():
        for form in forms:
            said = opinion(form.text, target, version)
            assert (said is None) == form.legal(target, version), (form.text, target, version, said)


@pytest.mark.ptxas
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_so_does_ptxas_but_for_the_reviewed_list(path: Path) -> None:
    ptxas, report = find_tool("ptxas"), Report()
    for (target, version), forms in questions(written(path), ptxas.newest_ptx).items():
        judge = Judge(ptxas, target, version)
        report.ask(judge, {ROW.name: path.stem}, [Case(form.text, ROW, "written") for form in forms])
    assert [str(difference) for difference in report.differences()] == []
