"""What stands around instructions: headers, declarations, initialisers, directives, sections, with ptxas's verdicts.

    python -m tests.oracle.declarations --ptxas NEWEST OLDEST

asks two releases about each line of `declared/*.tsv` and writes the verdicts in front of it: `+` where ptxas makes code
of the line's module, `-` where it refuses to, one sign for each release. A line to be asked about is the snippet alone.
None declares billions of registers: whether ptxas has the memory for them is the machine's to say.
"""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules import check_text
from pyptx_ir.toolchain.finder import Tool, tool_version
from pyptx_ir.toolchain.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).with_name("declared")
RELEASES = ((13, 5), (13, 0))  # whose verdicts stand in the files, in this order
PROCESSES = 2

_HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
_ENTRY = ".visible .entry k() { ret; }\n"
_ABOVE = ".global .b8 g[16];\n.func f() { ret; }\n"
_DATA = ".const .b32 c;\n.shared .b32 s;\n.global .texref tx;\n"
# The module that a snippet of each kind stands in, in the place of the @.
MODULES: dict[str, str] = {
    "header": f".version 9.0\n@\n{_ENTRY}",
    "module": f"{_HEAD}{_ABOVE}@\n{_ENTRY}",
    "variable": f"{_HEAD}.global .b8 g[16];\n@\n{_ENTRY}",
    "initializer": f"{_HEAD}{_ABOVE}{_DATA}@\n{_ENTRY}",
    "body": f"{_HEAD}{_ABOVE}.visible .entry k() {{ @\n ret; }}\n",
    "entry-parameter": f"{_HEAD}.visible .entry k(@) {{ ret; }}\n",
    "entry-return": f"{_HEAD}.visible .entry (@) k() {{ ret; }}\n",
    "entry-directive": f"{_HEAD}.visible .entry k() @ {{ ret; }}\n",
    "func-parameter": f"{_HEAD}.func f(@) {{ ret; }}\n{_ENTRY}",
    "func-return": f"{_HEAD}.func (@) f() {{ ret; }}\n{_ENTRY}",
    "func-directive": f"{_HEAD}.func f() @ {{ exit; }}\n{_ENTRY}",
    "func-directive-with-return": f"{_HEAD}.func (.param .b32 r) f() @ {{ exit; }}\n{_ENTRY}",
    "prototype-parameter": f"{_HEAD}.visible .entry k() {{ p: .callprototype _ (@);\n ret; }}\n",
    "prototype-return": f"{_HEAD}.visible .entry k() {{ p: .callprototype (@) _ ();\n ret; }}\n",
    "section": f"{_HEAD}{_ABOVE}{_ENTRY}.section .debug_info {{\nlab:\n@\n}}\n.section .debug_abbrev {{ .b8 0 }}\n",
}


@dataclass(frozen=True, slots=True)
class Declared:
    """A snippet of one kind, and whether each release takes its module; its line breaks are spelt out."""

    kind: str
    snippet: str
    taken: tuple[bool, ...] = ()

    @property
    def text(self) -> str:
        """The whole module."""
        return MODULES[self.kind].replace("@", self.snippet.replace("\\n", "\n"), 1)

    def __str__(self) -> str:
        """Spell the line of the file."""
        return f"{''.join('+' if taken else '-' for taken in self.taken)}\t{self.snippet}"


def read(path: Path) -> tuple[Declared, ...]:
    """Return the snippets of a file."""
    found: list[Declared] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        signs, tab, snippet = line.partition("\t")
        found.append(
            Declared(path.stem, snippet, tuple(sign == "+" for sign in signs)) if tab else Declared(path.stem, line)
        )
    return tuple(found)


def complaint(text: str) -> str | None:
    """Return the first error that the check finds, or None."""
    return next((f"{one.code}: {one.message}" for one in check_text(text) if one.is_error), None)


def is_taken(tool: Tool, text: str, target: str = "sm_90a") -> bool:
    """Tell whether ptxas makes code of a module."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        return run(tool, [f"-arch={target}", "-O0", "m.ptx", "-o", "m.o"], Path(folder)).status == 0


def ask(tools: Iterable[Tool], cases: Iterable[Declared]) -> list[Declared]:
    """Ask every tool about every case."""
    tools = tuple(tools)

    def asked(case: Declared) -> Declared:
        return Declared(case.kind, case.snippet, tuple(is_taken(tool, case.text) for tool in tools))

    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(asked, cases))


def main() -> None:
    """Write the files anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ptxas", type=Path, nargs=len(RELEASES), required=True)
    options = parser.parse_args()
    tools = [Tool("ptxas", path, tool_version(path)) for path in options.ptxas]
    for path in sorted(FOLDER.glob("*.tsv")):
        path.write_text("".join(f"{case}\n" for case in ask(tools, read(path))), encoding="utf-8")


if __name__ == "__main__":
    main()
