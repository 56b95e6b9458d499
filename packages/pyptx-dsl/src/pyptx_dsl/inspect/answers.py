"""Implementation of `.cubin()`, `.resources()`, `.sass()` and `.explain()`, with errors at Python lines."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.errors import AssemblyFailed, PtxasAdvisory
from pyptx_dsl.inspect.advice import advice_on
from pyptx_dsl.origin import definition, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_dsl.kernels.specialize import Traced
    from pyptx_ir.plugins.rows import Frame, Specialization
    from pyptx_ir.toolchain import Assembly, ToolMessage


@dataclass(frozen=True, slots=True)
class Listing:
    """PTX text, the Python call that returns it, the Python lines that emitted it, and `place`, the kernel's line."""

    name: str
    target: str
    text: str
    origins: Mapping[int, tuple[Frame, ...]]
    place: tuple[str, int]
    call: str

    @staticmethod
    def of_trace(declaration: Declaration, traced: Traced) -> Listing:
        """Return the PTX `Listing` of a traced kernel."""
        code = declaration.function.__code__
        place = (code.co_filename, definition(code))
        return Listing(
            declaration.name, declaration.target.name, traced.text, traced.origins, place, _call(declaration.name)
        )

    @staticmethod
    def of(specialization: Specialization) -> Listing:
        """Return the PTX `Listing` of a specialization; its `place` is the first known Python line, not the `def`."""
        origins = specialization.origins
        frame = next((frames[-1] for frames in origins.values() if frames), None)
        place = (frame.file, frame.line) if frame else (f"<{specialization.entry}>", 1)
        entry = specialization.entry
        return Listing(entry, specialization.target, specialization.text, origins, place, _call(entry))


def _call(name: str) -> str:
    """Return the Python call that produces a kernel's PTX, such as `k.ptx(N=64)`."""
    return f"{name}.ptx(…)"


def assembled(listing: Listing) -> Assembly:
    """Return the cubin from ptxas or the cubin cache; report ptxas's advisories as warnings at the user's lines."""
    from pyptx_ir.toolchain import AssemblyError, CubinCache, assemble

    try:
        assembly = assemble(listing.text, listing.target, cache=CubinCache())
    except AssemblyError as error:
        first = next((remark for remark in error.diagnostics if remark.is_error), None)
        raise _failure(listing, first, error) from None
    for remark in assembly.advisories:
        _advise(listing, remark)
    return assembly


def _failure(listing: Listing, remark: ToolMessage | None, error: Exception) -> AssemblyFailed | Exception:
    if remark is None:
        return error
    frames = _frames(listing, remark)
    line = listing.text.split("\n")[remark.line - 1].strip() if remark.line else ""
    return AssemblyFailed(
        f"ptxas rejects {listing.name} for {listing.target}: {remark.message}" + (f"\n    {line}" if line else ""),
        where="\n".join(show(frame.file, frame.line, frame.function) for frame in frames) or None,
        help=f"line {remark.line} of {listing.call}" if remark.line else None,
    )


def _advise(listing: Listing, remark: ToolMessage) -> None:
    """Warn at the Python line of a ptxas message, or at the kernel's `def` if the message has no line."""
    frames = _frames(listing, remark)
    file, line = (frames[0].file, frames[0].line) if frames else listing.place
    number = f" ({remark.code})" if remark.code else ""
    advice = advice_on(remark.message)
    help = f"\nhelp: {advice.help}" if advice else ""
    warnings.warn_explicit(f"{listing.name}: ptxas: {remark.message}{number}{help}", PtxasAdvisory, file, line)


def _frames(listing: Listing, remark: ToolMessage) -> tuple[Frame, ...]:
    return listing.origins.get(remark.line, ()) if remark.line else ()


def disassembled(cubin: bytes) -> str:
    """Return the SASS of a cubin."""
    from pyptx_ir.toolchain import disassemble

    return disassemble(cubin)


def explained(declaration: Declaration, traced: Traced) -> str:
    """Return ptxas's report on the kernel, as comments, and the PTX with the Python lines that emitted it."""
    from pyptx_dsl.inspect.explanation import explanation

    head = [f"// {line}".rstrip() for line in explanation(declaration, traced)]
    return "\n".join([*head, "", interleaved(traced)])


def interleaved(traced: Traced) -> str:
    """Insert `// file:line: source` before the lines of PTX that each Python line emitted."""
    import linecache

    lines, last = list[str](), None
    for number, line in enumerate(traced.text.split("\n"), 1):
        frames = traced.origins.get(number)
        if frames and frames != last:
            for depth, frame in enumerate(reversed(frames)):
                source = linecache.getline(frame.file, frame.line).strip()
                lines.append(f"\t//{' ' * (1 + 2 * depth)}{frame.file.rpartition('/')[2]}:{frame.line}: {source}")
        last = frames or last
        lines.append(line)
    return "\n".join(lines)
