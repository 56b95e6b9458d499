"""Check the contents of the built distributions.

    python tools/check_distributions.py FOLDER

Every wheel must contain its code, `py.typed`, its license and nothing else at the top level but its package. Every
sdist must contain the package's tests, and build a wheel of the same files. Needs pip and hatchling.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path


def wheel_faults(path: Path) -> list[str]:
    """Return a line for each wrong or missing file of a wheel."""
    package = path.name.split("-")[0]
    names = zipfile.ZipFile(path).namelist()
    tops = {name.split("/")[0] for name in names}
    faults = [f"holds {top} at the top level" for top in tops if top != package and not top.endswith(".dist-info")]
    if f"{package}/py.typed" not in names:
        faults.append("has no py.typed: its types would be ignored")
    if not any(".dist-info/licenses/LICENSE" in name for name in names):
        faults.append("has no licence")
    return faults


def sdist_faults(path: Path) -> list[str]:
    """Return a line for each wrong or missing file of an sdist, and of the wheel built from it."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO")
    faults = [f"has no {name}" for name in wanted if name not in names]
    if not any(name.startswith("tests/") for name in names):
        faults.append("has no tests")
    (wheel,) = path.parent.glob(f"{path.name.removesuffix('.tar.gz')}-*.whl")
    differ = set(zipfile.ZipFile(wheel).namelist()) ^ files_of_wheel_from(path)
    return faults + [f"builds a wheel that differs in {name}" for name in sorted(differ)]


def files_of_wheel_from(sdist: Path) -> set[str]:
    """Build a wheel from an sdist, as an installer would, and return the names of its files."""
    # hatchling is installed in this environment; the backend of the compiled package is downloaded for the build only.
    at_hand = () if sdist.name.startswith("pyptx_launch") else ("--no-build-isolation", "--no-index")
    # Without a cache: pip would use the cached wheel of an earlier sdist at the same path.
    options = ("--quiet", "--no-deps", "--no-cache-dir", *at_hand)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", folder, str(sdist)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        return set(zipfile.ZipFile(wheel).namelist())


def main(folder: str) -> None:
    """Print one line per distribution; exit with 1 if any has a fault."""
    found = sorted(Path(folder).glob("pyptx*"))
    if not found:
        sys.exit(f"no distributions in {folder}")
    failed = False
    for path in found:
        faults = wheel_faults(path) if path.suffix == ".whl" else sdist_faults(path)
        failed |= bool(faults)
        print(f"{path.name}: {'; '.join(faults) or 'ok'}")
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
