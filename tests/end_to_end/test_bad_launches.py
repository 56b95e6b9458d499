"""Property L8 for calls: a bad launch raises an error of the case's class, at the user's line; the next call works."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .bad_launches import GROUPS, BadLaunch

pytestmark = [pytest.mark.scaled(3), pytest.mark.no_cover]

ROOT = Path(__file__).resolve().parents[2]
CASES = [
    pytest.param(name, case, id=f"{name}-{case.title}", marks=[getattr(pytest.mark, group.mark)] if group.mark else [])
    for name, group in GROUPS.items()
    for case in group.cases
]


@cache
def outcomes(group: str) -> dict[str, dict[str, Any]]:
    """Run a group of bad calls in its own process, which fails if a good call fails; return outcomes by case title."""
    command = [sys.executable, "-m", "tests.end_to_end.bad_launches", group]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return {found["title"]: found for found in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize(("group", "case"), CASES)
def test_a_bad_launch_gives_its_error_and_the_next_good_one_works(group: str, case: BadLaunch) -> None:
    found = outcomes(group)[case.title]
    text, line = found["text"], found["wanted"]
    assert case.error in found["types"], f"{found['types'][0]}: {text}"
    assert [word for word in case.words if word not in text] == [], text
    assert not found["chained"], "one error without a chained exception"
    assert line in found["lines"]
    if group != "plans":  # errors of launch plans do not quote the user's source line
        assert f"user_program.py:{line}" in text, text
        assert "^" in text


def test_there_are_cases_of_every_kind_and_no_two_alike() -> None:
    for group in GROUPS.values():
        assert len({case.title for case in group.cases}) == len(group.cases)
    assert all(len(GROUPS[name].cases) >= 20 for name in ("numpy", "plans", "torch", "jax"))
