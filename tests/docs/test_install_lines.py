"""No text tells a user to install pyptx from a package index, where the name belongs to an unrelated project."""

from __future__ import annotations

import re
import subprocess

import pytest

from .pages import ROOT, name

WARNING = "`pip install pyptx` brings an older, unrelated project of this name."
WARNED = ("README.md", "docs/getting-started.md", "docs/torch.md", "docs/jax.md")
EXPLAINED = 'as in `pip install "pyptx[sim]"`'
# The arguments of a command end with the line, or with the inline code, which may continue on the next line.
COMMAND = re.compile(
    r"\b(?:pipx? (?:install|download|wheel)|uv (?:add|tool install)|uvx)\b([^`\n]*(?:\n[^`\n]*(?=`))?)"
)
# A package name of pyptx that is neither part of a path nor followed by a source to install from.
OURS = re.compile(r"(?<![\w./\\-])pyptx(?:-(?!checkout)\w+)*(?:\[[^\]]*\])?(?![\w/\[-]|\s*@)")
BRACKETS = re.compile(r"(?<![\w./\\-])pyptx(?:-(?!checkout)\w+)*\[\w")
COMPUTED = re.compile(r"pip install [^\n]*\{")


def texts() -> dict[str, str]:
    """Return the tracked texts that users read, by path."""
    command = ["git", "ls-files", "*.md", "*.py", "*.pyi", "*.toml", "*.sh"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    paths = [ROOT / name for name in listed if "tests" not in name.split("/")]
    return {name(path): path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def faults(text: str) -> list[str]:
    """Return the commands in a text that install a package of pyptx by name from an index."""
    told = re.sub(r"\s+(?=\S)", lambda space: "\n" if "\n" in space[0] else " ", text)
    for allowed in (WARNING, EXPLAINED):
        told = re.sub(re.escape(allowed).replace(r"\ ", r"\s"), "", told)
    return [command[0] for command in COMMAND.finditer(told) if OURS.search(command[1])]


@pytest.mark.parametrize(
    "text",
    [
        "pip install pyptx",
        "python -m pip install --upgrade pyptx-sim",
        "`pip install 'pyptx[torch]'`",
        "uv pip install numpy pyptx[all]>=0.2",
        "first `pip install\n'pyptx-jax[export]'`, then",
        'hint="pip install pyptx-sim, or move the arrays"',
        "uv add pyptx",
        "pip install pyptx==0.1.1",
    ],
)
def test_an_installation_by_name_is_seen(text: str) -> None:
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        'pip install ".[sim]"',
        "pip install ./packages/pyptx-ir",
        'uv pip install "/checkouts/pyptx[sim]"',
        'pip install "pyptx-checkout[sim] @ git+URL"',
        'pip install "pyptx[sim] @ file:///pyptx"',
        "pip install nox\npyptx doctor",
        WARNING.replace("an older, ", "an older,\n"),
    ],
)
def test_an_installation_from_a_place_is_none_of_these(text: str) -> None:
    assert not faults(text)


def test_no_text_installs_a_package_of_ours_by_name() -> None:
    read = texts()
    assert len(read) > 1000
    assert {path: found for path, text in read.items() if (found := faults(text))} == {}


def test_no_page_names_an_extra_as_an_index_would() -> None:
    pages = {path: text for path, text in texts().items() if path.endswith(".md")}
    named = {path for path, text in pages.items() if BRACKETS.search(text.replace(EXPLAINED, ""))}
    assert named == {"docs/departures.md"}  # this page quotes documents of pyptx 0.1.1


def test_only_one_module_computes_how_to_install_pyptx() -> None:
    sources = {path: text for path, text in texts().items() if re.match(r"packages/[^/]+/src/", path)}
    computed = {path for path, text in sources.items() if COMPUTED.search(text) and "/toolchain/" not in path}
    assert computed == {"packages/pyptx-ir/src/pyptx_ir/origins.py"}


@pytest.mark.parametrize("page", WARNED)
def test_what_the_index_brings_is_said_at_the_top(page: str) -> None:
    top = " ".join((ROOT / page).read_text(encoding="utf-8").split("\n## ")[0].split()[:120])
    assert WARNING in top
