"""Check that a package was imported from an installation, and that other local packages cannot be imported.

    python tools/check_alone.py PACKAGE [STRANGER ...]

Exits with a message if PACKAGE comes from a checkout, or if any STRANGER can be imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys


def main(package: str, *strangers: str) -> None:
    """Import `package`; exit if it is outside site-packages, or if a package of `strangers` can be imported."""
    origin = importlib.import_module(package).__file__ or ""
    if "site-packages" not in origin:
        sys.exit(f"{package} was imported from {origin}, not from an installation")
    present = [name for name in strangers if importlib.util.find_spec(name) is not None]
    if present:
        sys.exit(f"{package} must work without {', '.join(present)}, which is installed here")
    print(f"{package} works alone")


if __name__ == "__main__":
    main(*sys.argv[1:])
