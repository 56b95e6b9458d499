"""The mistakes that no check can find are exactly those listed in docs/findings.md."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.docs.pages import ROOT

from .inherent_mistakes import HEADER, INHERENT, Inherent

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
(SECTION,) = re.findall(r"(?ms)^## Mistakes that no check finds\n(.*?)(?=^## |\Z)", PAGE)
# Row of docs/findings.md without a case here: slow programs have the intended result.
UNPROVED = {"bank conflicts and uncoalesced accesses"}


@pytest.mark.hopper
@pytest.mark.parametrize("mistake", INHERENT, ids=[each.named for each in INHERENT])
def test_an_inherent_mistake_is_a_wrong_result_without_a_finding(mistake: Inherent, tmp_path: Path) -> None:
    path, source = tmp_path / "user_program.py", HEADER + mistake.source
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    names: dict[str, Any] = {"__name__": "user_program"}
    exec(compile(source, str(path), "exec"), names)  # noqa: S102 - the user's program
    assert names["report"].findings == ()
    assert not names["right"]


def test_the_page_lists_these_and_no_others() -> None:
    listed = set(re.findall(r"(?m)^\| (.+?) \|", SECTION)) - {"mistake", "---"}
    assert listed == {each.named for each in INHERENT} | UNPROVED
