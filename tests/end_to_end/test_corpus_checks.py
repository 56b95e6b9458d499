"""`pyptx check` on the corpus: no error in modules that ptxas accepts; the same verdict as ptxas for other targets.

By default a few modules of each compiler are checked; `PYPTX_KERNELS=all` checks all of them.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

import pytest
from tests.corpus_modules import BY_HAND, CORPUS, FOLDERS
from tools.shares import at_most

from pyptx_ir.isa.modules import check_text, portability
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax import decode, parse
from pyptx_ir.toolchain.finder import find_tool

from .ptxas_verdicts import complaints

pytestmark = pytest.mark.scaled

MOST = 6  # default number of checked modules per compiler
# Each module of the sample is checked for two of these targets, in rotation.
TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103f", "sm_120", "sm_121a")

# Differences between ptxas and the check for targets other than a module's own: pattern of its path, and the reason.
DIFFERENCES: dict[str, str] = {}


@cache
def rows() -> tuple[dict[str, Any], ...]:
    return tuple(tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"])


def text_of(path: str) -> str:
    return decode((CORPUS / path).read_bytes())


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_ptxas_accepts_has_no_error(folder: str) -> None:
    accepted = [row["path"] for row in rows() if row["assembles"] and row["path"].startswith(f"{folder}/")]
    found = [
        f"{path}:{one.line}:{one.column}: {one.code}: {one.message}"
        for path in (accepted if folder == BY_HAND else at_most(accepted, MOST))
        for one in check_text(text_of(path), path)
        if one.is_error
    ]
    assert found == []


def sample() -> list[tuple[str, str]]:
    """Return small compiled modules that the installed ptxas can read, each with two targets."""
    newest = find_tool("ptxas").newest_ptx
    small = [
        row
        for row in rows()
        if row["assembles"]
        and row["bytes"] < 30_000
        and row["producer"] != "hand"
        and tuple(map(int, row["ptx"].split("."))) <= newest
    ]
    paths = sorted(row["path"] for row in small)[:: max(1, len(small) // 16)]
    return [(path, TARGETS[(i * 2 + k) % len(TARGETS)]) for i, path in enumerate(paths) for k in range(2)]


def retargeted(text: str, target: str) -> str:
    """Return a module for another target, with a PTX version that supports it."""
    text = re.sub(r"(?m)^(\s*\.target\s+)\w+", rf"\g<1>{target}", text, count=1)
    found = re.search(r"\.version\s+(\d+)\.(\d+)", text)
    assert found
    since = find_target(target).since
    if (int(found[1]), int(found[2])) >= since:
        return text
    return text[: found.start()] + f".version {since[0]}.{since[1]}" + text[found.end() :]


@pytest.mark.ptxas
@pytest.mark.parametrize(("path", "target"), sample())
def test_a_module_is_portable_to_the_targets_that_ptxas_compiles_it_for(path: str, target: str) -> None:
    text = retargeted(text_of(path), target)
    (verdict,) = portability(parse(text), [target])
    agreed = verdict.ok == (not complaints(text, target))
    assert agreed != any(re.search(pattern, f"{path} {target}") for pattern in DIFFERENCES), verdict.obstacle


def test_the_sample_is_broad() -> None:
    assert len({path.split("/")[0] for path, _ in sample()}) >= 5
    assert {target for _, target in sample()} == set(TARGETS)
    assert all(len(reason) > 20 for reason in DIFFERENCES.values())
