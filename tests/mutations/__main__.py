"""Write the table of planted faults into the documentation; then read the diff.

python -m tests.mutations [--check | --list]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .table import PAGE, page

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Write the page, or compare it with what would be written, or name it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--check", action="store_true", help="write nothing; fail if the page is stale")
    only.add_argument("--list", action="store_true", help="name the page, and do nothing")
    options = parser.parse_args()
    if options.list:
        sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
    elif not options.check:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{PAGE.relative_to(ROOT)} is stale")


if __name__ == "__main__":
    main()
