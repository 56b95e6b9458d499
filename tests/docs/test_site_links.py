"""The link checker of the built documentation site finds broken links only; `nox -s docs` runs it on the site."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.check_site import broken

if TYPE_CHECKING:
    from pathlib import Path

OTHER = '<h1 id="other page">Other</h1><a name="old"></a>'


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ('<a href="other/#other%20page">', None),
        ('<a href="/other/index.html#old">', None),
        ('<img src="picture.svg">', None),
        ('<a href="#here">', None),
        ('<a href="#">', None),
        ('<a href="https://example.com/gone">', None),
        ('<a href="mailto:someone">', None),
        ('<a href="gone/">', "gone/: no such file"),
        ('<a href="../other.md">', "../other.md: no such file"),
        ('<img src="gone.svg">', "gone.svg: no such file"),
        ('<a href="other/#gone">', "other/#gone: no such anchor"),
        ('<a href="#gone">', "#gone: no such anchor"),
    ],
)
def test_a_broken_link_is_found(tmp_path: Path, link: str, fault: str | None) -> None:
    site = tmp_path / "site"
    (site / "other").mkdir(parents=True)
    (tmp_path / "other.md").touch()
    (site / "other" / "index.html").write_text(OTHER, encoding="utf-8")
    (site / "picture.svg").touch()
    (site / "index.html").write_text(f'<p id="here"></p>\n{link}', encoding="utf-8")
    found = broken(site)
    assert len(found) == bool(fault)
    assert all(line.startswith(f"index.html:2: {fault}") for line in found)
