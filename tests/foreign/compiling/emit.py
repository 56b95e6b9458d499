"""Compile the kernels of one source for all their targets: `emit.py LANGUAGE SOURCE FOLDER`.

Runs where the language's compiler is installed. Each case becomes a folder `NAME.TARGET`; one that does not compile
holds `refused.txt`, with the compiler's words.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from modules import write

if TYPE_CHECKING:
    from cases import Case


OF_ANOTHER = {"gluon": "triton"}  # whose compiler has another language's name


def emitted(language: str, case: Case, target: str, folder: Path) -> None:
    """Compile one case, and write what came of it."""
    try:
        write(folder, case, import_module(f"for_{OF_ANOTHER.get(language, language)}").compiled(case, target))
    except Exception as error:  # noqa: BLE001 - whatever a compiler says is part of the report
        folder.mkdir(parents=True, exist_ok=True)
        words = "".join(traceback.format_exception_only(error)).strip()
        (folder / "refused.txt").write_text(words, encoding="utf-8")


def main(language: str, source: str, into: str) -> None:
    """Compile the `CASES` of a source."""
    path = Path(source)
    sys.path.insert(0, str(path.parent))
    for case in import_module(path.stem).CASES:
        for target in case.targets:
            emitted(language, case, target, Path(into) / f"{case.name}.{target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
