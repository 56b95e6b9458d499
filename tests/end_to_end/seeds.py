"""Code blocks of the specification's pages, extracted verbatim.

The pages are plain text without fences, so a block is identified by its page, its first line and its last line. The
pages are read from `../shared/seeds` next to the checkout and never copied.
"""

from __future__ import annotations

from pathlib import Path

SEEDS = Path(__file__).resolve().parents[3] / "shared" / "seeds"


def block(page: str, first: str, last: str, *, occurrence: int = 0) -> str:
    """Return the lines of `page` from the `occurrence`-th line `first` through the next line `last`."""
    (path,) = SEEDS.glob(f"{page}_*.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [i for i, line in enumerate(lines) if line == first]
    start = starts[occurrence]
    end = lines.index(last, start)
    return "\n".join(lines[start : end + 1]) + "\n"


def on_cpu(source: str) -> str:
    """Replace cuda by cpu in a code block, the only change that tests make to it."""
    return source.replace('device="cuda"', 'device="cpu"')
