"""Write the page of injected faults, docs/injected-faults.md; then read the diff.

python -m tests.mutations [--list | --check]
"""

from __future__ import annotations

import sys

from .table import PAGE, ROOT, page

if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        sys.stdout.write(f"{PAGE.relative_to(ROOT).as_posix()}\n")
    elif sys.argv[1:] == ["--check"]:
        sys.exit(f"{PAGE.name} is stale" if PAGE.read_text(encoding="utf-8") != page() else 0)
    else:
        PAGE.write_text(page(), encoding="utf-8")
