"""Module syntax other than instructions: headers, declarations, initializers, directives, sections, checked by ptxas.

    python -m tests.oracle.declarations --ptxas NEWEST OLDEST

runs two releases on each line of `declared/*.tsv` and writes their verdicts at its start: `+` if ptxas generates code
for the line's module, `-` if it rejects it, one sign for each release. A new line contains the snippet only. No snippet
declares billions of registers: whether ptxas has enough memory for them depends on the machine.
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
RELEASES = ((13, 5), (13, 0))  # ptxas releases whose verdicts are in the files of `declared/`, in this order
PROCESSES = 2

_HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
_ENTRY = ".visible .entry k() { ret; }\n"
_ABOVE = ".global .b8 g[16];\n.func f() { ret; }\n"
_DATA = ".const .b32 c;\n.shared .b32 s;\n.global .texref tx;\n"
# For each kind of snippet, the module in which the snippet replaces the @.
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
    """Snippet of one kind, and whether each ptxas release accepts the module around it; line breaks are escaped."""

    kind: str
    snippet: str
    taken: tuple[bool, ...] = ()

    @property
    def text(self) -> str:
        """The module that contains the snippet."""
        return MODULES[self.kind].replace("@", self.snippet.replace("\\n", "\n"), 1)

    def __str__(self) -> str:
        """Return the snippet's line in the file: verdicts of ptxas, then the snippet."""
        return f"{''.join('+' if taken else '-' for taken in self.taken)}\t{self.snippet}"


def read(path: Path) -> tuple[Declared, ...]:
    """Return the snippets of a file of `declared/`, with the verdicts of ptxas."""
    found: list[Declared] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        signs, tab, snippet = line.partition("\t")
        found.append(
            Declared(path.stem, snippet, tuple(sign == "+" for sign in signs)) if tab else Declared(path.stem, line)
        )
    return tuple(found)


def complaint(text: str) -> str | None:
    """Return the first error of `pyptx check` about a module, or None."""
    return next((f"{one.code}: {one.message}" for one in check_text(text) if one.is_error), None)


def is_taken(tool: Tool, text: str, target: str = "sm_90a") -> bool:
    """Return whether ptxas generates code for a module."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        return run(tool, [f"-arch={target}", "-O0", "m.ptx", "-o", "m.o"], Path(folder)).status == 0


def ask(tools: Iterable[Tool], cases: Iterable[Declared]) -> list[Declared]:
    """Return the snippets with the verdict of each ptxas in place of the old verdicts."""
    tools = tuple(tools)

    def asked(case: Declared) -> Declared:
        return Declared(case.kind, case.snippet, tuple(is_taken(tool, case.text) for tool in tools))

    with ThreadPoolExecutor(PROCESSES) as pool:
        return list(pool.map(asked, cases))


def main() -> None:
    """Rewrite the files of `declared/` with the verdicts of both ptxas releases on each snippet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ptxas", type=Path, nargs=len(RELEASES), required=True)
    options = parser.parse_args()
    tools = [Tool("ptxas", path, tool_version(path)) for path in options.ptxas]
    for path in sorted(FOLDER.glob("*.tsv")):
        path.write_text("".join(f"{case}\n" for case in ask(tools, read(path))), encoding="utf-8")


if __name__ == "__main__":
    main()
