"""Write the table of planted faults into the documentation; then read the diff.

python -m tests.mutations
"""

from __future__ import annotations

from .table import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
