"""Report of `Kernel.explain` before the listing: results of ptxas for a kernel, with remedies."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pyptx_dsl.inspect.advice import advice_on
from pyptx_dsl.origin import definition, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.specialize import Traced
    from pyptx_ir.toolchain import Assembly, Resources, ToolMessage

_FILE = "kernel.ptx"
SASS_LINE = re.compile(rf'^\s*//## File "{re.escape(_FILE)}", line (\d+)')
"""Line of nvdisasm that precedes the code of a PTX line, in code assembled from `numbered`."""
_LOCAL_ACCESS = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?\w+ )?(?P<opcode>STL|LDL)\b")
_STATEMENT = re.compile(r"\s*(?:@!?[\w$%]+\s+)?[a-z][\w.:]*(?:\s[^/]*)?;\s*$")
_MOST_LINES = 8  # maximum number of reported Python lines with local memory accesses


def explanation(declaration: Declaration, traced: Traced) -> Iterator[str]:
    """Yield the report: the kernel's resources, then each ptxas finding with its line, an explanation and a remedy."""
    from pyptx_ir.toolchain import ToolchainError, assemble

    try:
        assembly = assemble(traced.text, declaration.target.name)
    except ToolchainError as error:
        yield from str(error).splitlines()
        return
    used = assembly.resources[declaration.name]
    yield _summary(declaration, used)
    for remark in assembly.advisories:
        yield from _finding(
            remark.message + (f" ({remark.code})" if remark.code else ""), _where(declaration, traced, remark)
        )
    if used.spills:
        yield from _finding(f"{used.spills} bytes of spilled registers", None)
    if used.local or used.stack:
        yield from _finding(f"{max(used.local, used.stack)} bytes of local memory", None)
        yield from _local_traffic(declaration, traced)


def _summary(declaration: Declaration, used: Resources) -> str:
    parts = [f"{used.registers} registers per thread"]
    parts += [f"{used.shared} bytes of static shared memory"] if used.shared else []
    parts += [f"{used.barriers} barriers"] if used.barriers else []
    parts.append(f"{used.spills} bytes spilled")
    return f"{declaration.name} for {declaration.target.name}: {', '.join(parts)}"


def _where(declaration: Declaration, traced: Traced, remark: ToolMessage) -> str:
    """Return the Python lines of a ptxas message as text, or the kernel's `def` if the message has no line."""
    frames = traced.origins.get(remark.line, ()) if remark.line else ()
    code = declaration.function.__code__
    places = [(frame.file, frame.line, frame.function) for frame in frames]
    return "\n".join(show(*place) for place in places or [(code.co_filename, definition(code), code.co_qualname)])


def _finding(said: str, where: str | None) -> Iterator[str]:
    yield ""
    yield from (where or "").splitlines()
    yield f"ptxas: {said}"
    advice = advice_on(said)
    if advice is not None:
        yield f"  meaning: {advice.meaning}"
        yield f"  to do: {advice.help}"


def _local_traffic(declaration: Declaration, traced: Traced) -> Iterator[str]:
    """Yield the Python lines whose SASS accesses local memory, most accesses first."""
    from pyptx_ir.toolchain import ToolchainError, assemble, disassemble

    try:
        assembly: Assembly = assemble(numbered(traced), declaration.target.name)
        sass = disassemble(assembly.cubin, lines=True)
    except ToolchainError as error:
        yield f"  Python lines not found: {error.message}" + (f" ({error.help})" if error.help else "")
        return
    counted = local_accesses(sass)
    shown = Counter[str]()
    for line, count in counted.items():
        frames = traced.origins.get(line, ())
        if frames:
            shown[show(frames[0].file, frames[0].line, frames[0].function)] += count
    for place, count in shown.most_common(_MOST_LINES):
        yield f"  {count} accesses to local memory from"
        yield from (f"  {text}" for text in place.splitlines())


def numbered(traced: Traced) -> str:
    """Return the PTX with a `.loc` before every instruction, which states the instruction's line in the PTX text."""
    lines = traced.text.split("\n")
    index = 1 + sum(line.lstrip().startswith(".file") for line in lines)
    written: list[str] = []
    for number, line in enumerate(lines, 1):
        if number in traced.origins and _STATEMENT.match(line):
            written.append(f"\t.loc {index} {number} 1")
        written.append(line)
        if line.startswith(".address_size"):
            written.append(f'.file {index} "{_FILE}"')
    return "\n".join(written)


def local_accesses(sass: str) -> Counter[int]:
    """Return the number of local memory loads and stores per PTX line in a listing of nvdisasm."""
    found: Counter[int] = Counter()
    line = 0
    for text in sass.splitlines():
        place = SASS_LINE.match(text)
        if place:
            line = int(place[1])
        elif _LOCAL_ACCESS.match(text):
            found[line] += 1
    return found
