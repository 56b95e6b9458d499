"""Hold law L1 on PTX that nobody wrote for us: the modules inside published wheels.

    python tools/wild.py [REQUIREMENT ...]

Downloads each wheel (hundreds of megabytes in all) into a temporary folder, takes every distinct PTX module out of it,
and checks that `emit(parse(text)) == text`. Prints a line a wheel. Exits with 1 if one fails, or a wheel holds none.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from fatbin import ptx_modules
from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax import decode, emit, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

WHEELS = ("nvidia-nccl-cu13", "torchvision", "xgboost", "warp-lang", "numba-cuda")
BINARIES = {".so", ".a", ".o", ".dll", ".pyd", ".fatbin", ".bc", ".cubin"}


def download(requirement: str, folder: Path) -> Path:
    """Fetch one wheel, without what it needs."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(folder), requirement], check=True)
    (wheel,) = folder.iterdir()
    return wheel


def modules(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the distinct PTX modules of a wheel, each with the file that holds it."""
    seen: set[bytes] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            for text in _modules_of_file(name, archive):
                digest = hashlib.sha256(text).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield name, text


def _modules_of_file(name: str, archive: zipfile.ZipFile) -> Iterator[bytes]:
    path = Path(name)
    if path.suffix == ".ptx":
        yield archive.read(name).rstrip(b"\0")
    elif BINARIES & set(path.suffixes):
        yield from ptx_modules(archive.read(name))


def fault(text: str) -> str | None:
    """Return how a module breaks the law, if it does."""
    try:
        same = emit(parse(text)) == text
    except PyptxError as error:
        return str(error)
    return None if same else "emits other bytes"


def check(requirement: str) -> bool:
    """Check one wheel, print a line about it, and return whether the law holds on it."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = download(requirement, Path(folder))
        count = size = 0
        seconds = 0.0
        faults: list[str] = []
        for name, module in modules(wheel):
            text = decode(module)
            start = time.perf_counter()
            wrong = fault(text)
            seconds += time.perf_counter() - start
            count += 1
            size += len(module)
            if wrong is not None:
                faults.append(f"  {name}, module {count}: {wrong}")
    rate = size / 1e6 / seconds if seconds else 0.0
    found = f"{count} modules, {size / 1e6:.1f} MB, {len(faults)} faults"
    print(f"{wheel.name}: {found}, parsed and emitted at {rate:.1f} MB/s")
    print(*faults, sep="\n", end="\n" if faults else "")
    return count > 0 and not faults


def main(requirements: list[str]) -> int:
    """Check all the wheels and return the exit status."""
    held = [check(requirement) for requirement in requirements]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(WHEELS)))
