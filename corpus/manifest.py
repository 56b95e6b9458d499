"""`manifest.toml`: one `[[module]]` per file of the corpus, written by `build.py`, read by the tests."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parent
MANIFEST = CORPUS / "manifest.toml"

# Path prefixes that would tie a module to the machine that built it.
MACHINE_PATHS = re.compile(rb"/(?:work|root|home|tmp|usr|opt|var|mnt)/")


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the corpus. `ptx` is its `.version`; `assembles` is ptxas's result and `reason` why not.

    `shows` is the purpose of a file in `handmade/`; it is empty for a compiler's.
    """

    path: str
    producer: str
    version: str
    source: str
    target: str
    ptx: str
    command: str
    bytes: int
    sha256: str
    assembles: bool
    reason: str = ""
    shows: str = ""


def read() -> tuple[Module, ...]:
    """Return the rows of `manifest.toml`."""
    return tuple(Module(**row) for row in tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["module"])


def write(modules: list[Module]) -> None:
    """Write `manifest.toml`, sorted by path."""
    head = "# Written by build.py; see README.md. sha256 is that of the file's bytes.\n"
    rows = [_row(module) for module in sorted(modules, key=lambda m: m.path)]
    MANIFEST.write_text(head + "".join(rows), encoding="utf-8")


def files() -> tuple[str, ...]:
    """Return the paths of all modules in `corpus/`, sorted."""
    return tuple(sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*.ptx")))


def digest(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def machine_paths(data: bytes) -> list[str]:
    """Return messages for machine paths in a module, in its text or in the bytes of its debug sections."""
    spots = [(data.count(b"\n", 0, match.start()) + 1, match[0]) for match in MACHINE_PATHS.finditer(data)]
    shown = [f"line {line} names {path.decode()}…" for line, path in spots]
    hidden = [f"its debug sections name {m[0].decode()}…" for m in MACHINE_PATHS.finditer(section_bytes(data))]
    return shown + hidden


def section_bytes(data: bytes) -> bytes:
    """Return the bytes of all `.b8` lines of a module, concatenated: they contain the strings of debug sections."""
    lines = re.findall(rb"^\.b8[ \t]+([-\d, \t]+)$", data, re.MULTILINE)
    return bytes(int(value) & 0xFF for line in lines for value in line.split(b","))


def ptx_version(data: bytes) -> tuple[int, int]:
    """Return the version of the first `.version` in a module, (0, 0) if there is none."""
    match = re.search(rb"^\s*\.version\s+(\d+)\.(\d+)", _without_comments(data), re.MULTILINE)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def targets(data: bytes) -> tuple[str, ...]:
    """Return the names of the first `.target` of a module."""
    match = re.search(rb"\.target\s+([\w, \t\r\n]+?)(?=\s*(?:[\r\n.;/]|\Z))", _without_comments(data))
    return tuple(name.strip() for name in match[1].decode().split(",")) if match else ()


def problems() -> list[str]:
    """Return the differences between `manifest.toml` and the files: missing, unlisted, changed."""
    rows = {module.path: module for module in read()}
    present = set(files())
    found = [f"{path}: in the manifest, but the file is missing" for path in sorted(rows.keys() - present)]
    found += [f"{path}: not in the manifest" for path in sorted(present - rows.keys())]
    for path in sorted(present & rows.keys()):
        data = (CORPUS / path).read_bytes()
        if digest(data) != rows[path].sha256 or len(data) != rows[path].bytes:
            found.append(f"{path}: its size or SHA-256 differs from the manifest")
    return found


def _without_comments(data: bytes) -> bytes:
    return re.sub(rb"//[^\n]*|/\*.*?\*/", b" ", data, flags=re.DOTALL)


def _row(module: Module) -> str:
    lines = ["", "[[module]]"]
    for name in module.__slots__:
        value: Any = getattr(module, name)
        if value != "" or name not in {"reason", "shows"}:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: str | int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
