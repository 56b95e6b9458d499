"""Compile the kernels of one source for a target: `emit.py LANGUAGE SOURCE TARGET FOLDER`.

Runs where the language's compiler is installed. Each case becomes a folder `NAME.TARGET`; one that does not compile
holds `refused.txt`, with the compiler's words. A module `for_LANGUAGE` compiles a case; where it has a function
`begin`, that is told the target before the source is imported.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modules import write

if TYPE_CHECKING:
    from cases import Case

OF_ANOTHER = {"gluon": "triton"}  # whose compiler has another language's name


def emitted(compiler: Any, case: Case, target: str, folder: Path) -> None:
    """Compile one case, and write what came of it."""
    try:
        write(folder, case, compiler.compiled(case, target))
    except Exception as error:  # noqa: BLE001 # whatever a compiler says is part of the report
        folder.mkdir(parents=True, exist_ok=True)
        words = "".join(traceback.format_exception_only(error)).strip()
        (folder / "refused.txt").write_text(words, encoding="utf-8")


def main(language: str, source: str, target: str, into: str) -> None:
    """Compile those `CASES` of a source that are for a target."""
    compiler = import_module(f"for_{OF_ANOTHER.get(language, language)}")
    if hasattr(compiler, "begin"):
        compiler.begin(target)
    path = Path(source)
    sys.path.insert(0, str(path.parent))
    for case in import_module(path.stem).CASES:
        if target in case.targets:
            emitted(compiler, case, target, Path(into) / f"{case.name}.{target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
