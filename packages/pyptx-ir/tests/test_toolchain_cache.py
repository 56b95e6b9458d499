"""The cubin cache: keyed by content, entries whole or absent, bounded size, shared by processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pyptx_ir.commands import main
from pyptx_ir.toolchain import CacheWarning, CubinCache, assemble
from pyptx_ir.toolchain.cache import default_folder
from pyptx_ir.toolchain.finder import find_tool

KERNEL = ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"


def key(number: int) -> str:
    return CubinCache.key(str(number), "sm_90a", (), "ptxas 13.0")


def test_what_is_put_is_got(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path)
    assert cache.get(key(1)) is None
    assert key(1) not in cache
    cache.put(key(1), b"one")
    cache.put(key(2), b"")
    assert cache.get(key(1)) == b"one"
    assert cache.get(key(2)) == b""
    assert key(1) in cache
    assert len(cache) == 2
    cache.clear()
    assert len(cache) == 0
    assert cache


def test_the_key_depends_on_everything_that_decides_the_outcome() -> None:
    keys = {
        CubinCache.key("t", "sm_90a", (), "ptxas 13.0"),
        CubinCache.key("u", "sm_90a", (), "ptxas 13.0"),
        CubinCache.key("t", "sm_90", (), "ptxas 13.0"),
        CubinCache.key("t", "sm_90a", ("-O0",), "ptxas 13.0"),
        CubinCache.key("t", "sm_90a", ("-O0", ""), "ptxas 13.0"),
        CubinCache.key("t", "sm_90a", ("-", "O0"), "ptxas 13.0"),
        CubinCache.key("t", "sm_90a", (), "ptxas 13.1"),
    }
    assert len(keys) == 7
    assert CubinCache.key("t", "sm_90a", ["-O0"], "p") == CubinCache.key("t", "sm_90a", ("-O0",), "p")


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b[:60] + b"!" + b[61:], lambda b: b + b"x"]
)
def test_a_damaged_entry_counts_as_absent_and_is_removed(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    cache = CubinCache(tmp_path)
    cache.put(key(1), b"payload" * 10)
    (path,) = tmp_path.glob("??/*.cubin")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(key(1)) is None
    assert not path.exists()


def test_pruning_removes_what_was_used_longest_ago(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path)
    for i in range(4):
        cache.put(key(i), bytes(1000))
    for i in range(4):
        (path,) = tmp_path.glob(f"??/{key(i)}.cubin")
        os.utime(path, (1000 + i, 1000 + i))
    assert cache.get(key(0)) is not None  # `get` makes key(0) the most recently used entry
    removed = cache.prune(2 * 1100)
    assert removed > 0
    assert [i for i in range(4) if key(i) in cache] == [0, 3]
    assert cache.prune(0) > 0
    assert len(cache) == 0


def test_a_put_prunes_at_most_once_a_day(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path, max_bytes=1500)
    for i in range(3):
        cache.put(key(i), bytes(1000))
    assert len(cache) == 3
    os.utime(tmp_path / "pruned", (0, 0))
    cache.put(key(3), bytes(1000))
    assert len(cache) == 1


def test_a_folder_that_can_not_be_written_warns_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    cache = CubinCache(tmp_path / "file")
    with pytest.warns(CacheWarning, match="PYPTX_CACHE_DIR"):
        cache.put(key(1), b"x")
    assert cache.get(key(1)) is None


def test_nothing_is_left_behind_by_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CubinCache(tmp_path)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.warns(CacheWarning, match="disk full"):
        cache.put(key(1), b"x")
    assert not list(tmp_path.glob("??/*"))


def test_the_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "mine"))
    assert default_folder() == CubinCache().folder == tmp_path / "mine"
    monkeypatch.delenv("PYPTX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "pyptx"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "pyptx"


WRITER = """
import sys
from pathlib import Path
from pyptx_ir.toolchain.cache import CubinCache
cache = CubinCache(Path(sys.argv[1]))
keys = [CubinCache.key(str(i), "sm_90a", (), "p") for i in range(5)]
for round in range(60):
    for i, key in enumerate(keys):
        found = cache.get(key)
        assert found is None or found == bytes([i]) * 20000, "torn"
        cache.put(key, bytes([i]) * 20000)
    if round % 20 == 19:
        cache.prune(40000)
"""


def test_processes_that_write_the_same_entries_never_see_half_of_one(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    errors = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0], errors
    assert not list(tmp_path.glob("??/*.part"))


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path)

    def work() -> None:
        for i in range(20):
            cache.put(key(i % 3), bytes([i % 3]) * 5000)
            assert cache.get(key(i % 3)) == bytes([i % 3]) * 5000

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache) == 3


@pytest.mark.ptxas
def test_a_second_assembly_does_not_run_ptxas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CubinCache(tmp_path / "cache")
    first = assemble(KERNEL, "sm_90a", cache=cache, tool=find_tool("ptxas"))
    monkeypatch.setattr("pyptx_ir.toolchain.assembler.run", None)
    second = assemble(KERNEL, "sm_90a", cache=cache, tool=find_tool("ptxas"))
    assert (second.cubin, second.log) == (first.cubin, first.log)
    assert second.resources == first.resources
    with pytest.raises(TypeError):
        assemble(KERNEL, "sm_90a", options=["-O0"], cache=cache, tool=find_tool("ptxas"))


@pytest.mark.ptxas
def test_a_refusal_is_not_cached(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path)
    for _ in range(2):
        with pytest.raises(Exception, match="rejects"):
            assemble(KERNEL.replace("ret", "rett"), "sm_90a", cache=cache)
    assert len(cache) == 0


def test_the_command_lists_cubins_by_last_use_and_removes_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path))
    cache = CubinCache(tmp_path)
    for number in range(25):
        cache.put(key(number), bytes(1000))
        os.utime(cache._path(key(number)), (number * 100, number * 100))
    assert main(["cache", "ls"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[:2]] == [f"{key(24)}.cubin", f"{key(23)}.cubin"]
    assert lines[-2:] == ["and 5 more; --all lists them", f"{tmp_path}: 25 cubins, 0.0 MB"]
    assert main(["cache", "ls", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 26
    assert main(["cache", "prune", "--size", "5K"]) == 0
    assert {number for number in range(25) if key(number) in cache} == {21, 22, 23, 24}
    assert main(["cache", "prune", "--size", "5 K"]) == 2
    assert main(["cache", "prune"]) == 0
    assert len(cache) == 0
    assert capsys.readouterr().err == "pyptx cache: --size 5 K: expected a size in bytes, or such as 500M or 2G\n"
