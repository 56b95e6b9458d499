"""Where the installed pyptx distributions come from, and the pip command that installs more of them from there.

Installers record the folder, archive or repository of a distribution in its `direct_url.json` (PEP 610). The command
never takes a name of this project from a package index: `pyptx` is an unrelated project there.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from importlib.metadata import Distribution

CHECKOUT: Final = "pyptx-checkout"
"""Distribution at the root of the repository: it has the extras of pyptx and no code."""
_CORE: Final = "pyptx-ir"  # name of the distribution that contains the module `origins`


def install_command(*choices: str) -> str:
    """Return the command that installs pyptx with any of `choices`: each is one extra, or several with commas.

    It names the checkout or the repository that pyptx was installed from. If that is unknown, it says "in a checkout of
    pyptx".
    """
    before, after, where = _source() or (".", "", " in a checkout of pyptx")
    extras = [f"[{choice}]" if choice else "" for choice in choices]
    return f"pip install {' or '.join(_quoted(f'{before}{extra}{after}') for extra in extras)}{where}"


def origin(found: Distribution) -> str:
    """Return where a distribution came from: a checkout, a repository and its commit, an archive or an index."""
    record = _record(found)
    record = _unpacked(record) or record
    if "vcs_info" in record:
        return f"{_repository(record)} at {record['vcs_info']['commit_id'][:12]}"
    folder = _folder(record)
    if folder is not None:
        return f"{_checkout(folder) or folder}{', editable' if record['dir_info'].get('editable') else ''}"
    return str(record.get("url") or "a package index or a folder of wheels")


@cache  # cached: `pyptx check` may name the install command in thousands of errors
def _source() -> tuple[str, str, str] | None:
    """Return pyptx's pip requirement before and after the extras, and text that ends the command; None if unknown."""
    for name in (CHECKOUT, _CORE):
        record = _record(_find(name))
        folder = _folder(record)
        root = None if folder is None else _checkout(folder)
        if root is not None:
            return str(root), "", ""
        if "vcs_info" in record:
            revision = record["vcs_info"].get("requested_revision")
            return CHECKOUT, f" @ {_repository(record)}{f'@{revision}' if revision else ''}", ""
        if name == CHECKOUT and "archive_info" in record:
            return CHECKOUT, f" @ {record['url']}", ""
    return None


def _unpacked(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return the `direct_url.json` of the repository from which pip unpacked a package temporarily; else None.

    pip clones a repository into a temporary folder and records that folder for the packages in it.
    """
    whole = _find(CHECKOUT)
    needs = [] if whole is None else [need.partition(" ;")[0].removesuffix("/.") for need in whole.requires or ()]
    unpacked = str(record.get("url")).removesuffix("/.")
    if "dir_info" in _record(whole) or not any(need.endswith(f" @ {unpacked}") for need in needs):
        return None
    return _record(whole)


def _find(name: str) -> Distribution | None:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _record(found: Distribution | None) -> dict[str, Any]:
    """Return a distribution's `direct_url.json`; empty if it was installed by name or the file is damaged."""
    import json

    text = None if found is None else found.read_text("direct_url.json")
    try:
        record = json.loads(text or "{}")
    except ValueError:
        return {}
    return cast("dict[str, Any]", record) if isinstance(record, dict) else {}


def _repository(record: dict[str, Any]) -> str:
    return f"{record['vcs_info']['vcs']}+{record['url']}"


def _folder(record: dict[str, Any]) -> Path | None:
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return Path(url2pathname(urlsplit(str(record["url"])).path)) if "dir_info" in record else None


def _checkout(folder: Path) -> Path | None:
    """Return the root of the checkout that is `folder` or contains it as a package; None if it no longer exists."""
    roots = (folder, *folder.parents[1:2])
    return next((root for root in roots if (root / "packages" / "pyptx" / "pyproject.toml").is_file()), None)


def _quoted(requirement: str) -> str:
    """Quote a requirement for a shell: in double quotes, which all shells support, if possible."""
    return shlex.quote(requirement) if re.search(r'["$`!]', requirement) else f'"{requirement}"'
