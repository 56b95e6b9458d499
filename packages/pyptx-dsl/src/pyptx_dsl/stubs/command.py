"""`pyptx stubs`: writer of the type stubs of `ptx.inst`, including the instructions of installed plugins."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_dsl.stubs.parts import CORE, by_stub, file_of, stub_of
from pyptx_dsl.stubs.stub import write_stubs
from pyptx_ir.command_line import CommandParser, run
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

DESCRIPTION = (
    "Write a type stub of ptx.inst with the instructions of the installed plugins, and the stubs of plugin "
    "packages that do not ship them."
)


def stubs(argv: Sequence[str]) -> int:
    """Write type stubs below a folder; return exit code 0, or 2 for a usage error."""
    return run(stubs_parser(), _stubs, argv)


def stubs_parser() -> CommandParser:
    """Return the parser of the options of `pyptx stubs`."""
    parser = CommandParser("stubs", DESCRIPTION, output=False)
    parser.add_argument("--output", type=Path, default=Path("typings"), metavar="FOLDER", help="default: typings")
    parser.add_argument("--package", metavar="NAME", help="write only the stub that this import package ships")
    return parser


def _stubs(options: argparse.Namespace) -> int:
    for module, text in _chosen(options.package).items():
        path = options.output / file_of(module)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}: {text.count(chr(10))} lines\n")
    return 0


def _chosen(package: str | None) -> dict[str, str]:
    """Return stub texts by module: `package`'s stub, or pyptx-dsl's and all stubs that differ from installed stubs."""
    from pyptx_ir.plugins.manager import manager

    texts = write_stubs(by_stub(manager().instructions_by_package()))
    if package is None:
        return {module: text for module, text in texts.items() if module == CORE or _shipped(module) != text}
    if stub_of(package) not in texts:
        raise PyptxError(f"no plugin of package {package} adds instructions to ptx.inst")
    return {stub_of(package): texts[stub_of(package)]}


def _shipped(module: str) -> str:
    """Return the text of a module's stub in its installed package; empty if the package has no stub."""
    spec = find_spec(module.partition(".")[0])
    folders = (spec.submodule_search_locations or ()) if spec else ()
    files = [path for folder in folders if (path := Path(folder).parent / file_of(module)).is_file()]
    return files[0].read_text(encoding="utf-8") if files else ""
