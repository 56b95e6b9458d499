"""Compile the kernels of one source for a target: `emit.py LANGUAGE SOURCE TARGET FOLDER`.

Runs in the environment of the language's compiler. Each case becomes a folder `NAME.TARGET`; if it does not compile,
the folder contains `refused.txt` with the compiler's message. A module `for_LANGUAGE` compiles a case; its function
`begin`, if any, is called with the target before the source is imported.
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

OF_ANOTHER = {"gluon": "triton"}  # language whose sources the compiler of another language compiles


def emitted(compiler: Any, case: Case, target: str, folder: Path) -> None:
    """Compile one case, and write its PTX module or the compiler's error."""
    try:
        write(folder, case, compiler.compiled(case, target))
    except Exception as error:  # noqa: BLE001 # any exception of a compiler is part of the report
        folder.mkdir(parents=True, exist_ok=True)
        words = "".join(traceback.format_exception_only(error)).strip()
        (folder / "refused.txt").write_text(words, encoding="utf-8")


def main(language: str, source: str, target: str, into: str) -> None:
    """Compile the `CASES` of a source that have this target."""
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
