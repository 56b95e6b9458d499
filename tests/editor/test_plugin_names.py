"""Completions and signatures that an editor shows for the namespaces of plugins."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from .language_server import LanguageServer
from .test_editor import ROOT, SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Lines of a user's file, each with names that must be offered after its last dot.
OFFERED = (
    ("ptx.wgmma", {"wgmma", "tma", "cluster", "elect_sync", "setmaxnreg", "griddepcontrol", "multimem"}),
    ("ptx.wgmma.fence", {"mma_async", "mma_async_sp", "descriptor", "commit_group", "SWIZZLE_128B"}),
    ("ptx.tcgen05.mma", {"mma", "mma_sp", "mma_ws", "alloc", "ld", "wait_ld", "commit", "descriptor"}),
    ("ptx.tcgen05.mma.async_2sm", {"async_2sm"}),
    ("ptx.tmem.alloc", {"alloc", "at"}),
    ("ptx.tma.load_3d", {"load_3d", "load_3d_multicast", "store_3d"}),
    ("ptx.cp.async_.bulk", {"bulk", "ca", "cg"}),
    ("ptx.cp.async_.bulk.tensor_2d", {"tensor_1d", "tensor_5d", "load", "store", "send", "commit_group"}),
    ("ptx.cp.async_.bulk.tensor_2d.store", {"store", "reduce", "prefetch"}),
    ("ptx.fence.proxy_async", {"proxy", "proxy_async", "mbarrier_init"}),
    ("ptx.inst.tcgen05", {"add", "tcgen05", "wgmma"}),
    ("ptx.inst.cp.async_.bulk", {"bulk", "ca", "cg"}),
    ("ptx.inst.cp.async_.bulk.commit_group", {"commit_group", "tensor", "wait_group"}),
    ("ptx.inst.mma.sync.aligned.m16n8k32.row.col.kind__f8f6f4", {"kind__f8f6f4", "s32"}),
)
SOURCE = "from pyptx import ptx\n" + "".join(f"{line}\n" for line, _ in OFFERED)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with one user's file; return the path of the file."""
    folder = tmp_path_factory.mktemp("project")
    sources = [str(path) for path in sorted(ROOT.glob("packages/*/src"))]
    (folder / "pyproject.toml").write_text(f"[tool.pyright]\nextraPaths = {sources}\n", encoding="utf-8")
    path = folder / "user.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def server(document: Path) -> Iterator[LanguageServer]:
    """Yield a language server that has opened the user's file."""
    with LanguageServer([sys.executable, str(SERVER), "--stdio"], document.parent) as running:
        running.open(document)
        yield running


@pytest.mark.parametrize(("line", "names"), OFFERED, ids=[line for line, _ in OFFERED])
def test_the_names_of_a_plugin_are_offered(server: LanguageServer, document: Path, line: str, names: set[str]) -> None:
    number = SOURCE.splitlines().index(line)
    assert names <= set(server.completions(document, number, line.rindex(".") + 1))


@pytest.mark.parametrize(
    ("line", "word", "shown"),
    [
        ("ptx.inst.tcgen05", "tcgen05", "`tcgen05.alloc`: Allocate"),
        ("ptx.inst.cp.async_.bulk", "bulk", "`cp.async.bulk.wait_group`: Wait until"),
        ("ptx.inst.mma.sync.aligned.m16n8k32.row.col.kind__f8f6f4", "kind", "(PTX 8.7, sm_120f and its family)"),
    ],
)
def test_a_word_of_a_plugin_among_others_shows_what_it_is(
    server: LanguageServer, document: Path, line: str, word: str, shown: str
) -> None:
    hover = server.hover(document, SOURCE.splitlines().index(line), line.rindex(word)).replace("\\_", "_")
    assert shown in hover


def test_a_call_shows_what_it_emits(server: LanguageServer, document: Path) -> None:
    line = "ptx.wgmma.fence"
    shown = server.hover(document, SOURCE.splitlines().index(line), line.rindex("fence")).replace("\\_", "_")
    assert "wgmma.fence.sync.aligned" in shown
