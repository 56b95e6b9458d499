"""Check that the installed packages contain the sources of this checkout, not those of an earlier build.

    python tools/check_current.py

Exits with the names of the files that differ.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def texts(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the Python files below a folder, by relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}


def main() -> None:
    """Compare each installed package of this repository with its sources; exit with the names of differing files."""
    site = Path(sysconfig.get_path("purelib"))
    sources = {path.name: path for path in ROOT.glob("packages/*/src/*") if (site / path.name).is_dir()}
    differ = [
        f"{name}/{path}"
        for name, source in sorted(sources.items())
        for path, _ in sorted(texts(source).items() ^ texts(site / name).items())
    ]
    if differ or not sources:
        sys.exit(f"not installed from these sources: {', '.join(dict.fromkeys(differ)) or 'nothing is installed'}")
    print(f"{', '.join(sorted(sources))}: as in this checkout")


if __name__ == "__main__":
    main()
