"""Compile PTX to a cubin with ptxas or nvJitLink."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.toolchain.diagnostics import ToolMessage, locate, parse_log
from pyptx_ir.toolchain.errors import AssemblyError, MissingToolError, ToolchainError
from pyptx_ir.toolchain.finder import WHEELS, Tool, find_tool, release_for
from pyptx_ir.toolchain.jitlink import NAME as NVJITLINK
from pyptx_ir.toolchain.jitlink import find_nvjitlink, link
from pyptx_ir.toolchain.resources import Resources, parse_resources
from pyptx_ir.toolchain.runner import Outcome, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.toolchain.cache import CubinCache

_TOO_NEW = re.compile(r"Unsupported \.version (\d+)\.(\d+); current version is '([\d.]+)'")
_UNKNOWN_TARGET = re.compile(
    r"Value '(\S+)' is not defined for option 'gpu-name'|Unsupported \.target '(\S+)'"
    r"|nvJitLink: ERROR_UNRECOGNIZED_ARCH"
)


@dataclass(frozen=True, slots=True)
class Assembly:
    """A cubin, with the messages of ptxas, or of nvJitLink in the format of ptxas."""

    cubin: bytes
    log: str

    @property
    def advisories(self) -> tuple[ToolMessage, ...]:
        """Return the compiler's warnings and advice (performance notes, ignored directives), without its statistics."""
        return tuple(remark for remark in parse_log(self.log) if not remark.is_error)

    @property
    def resources(self) -> Mapping[str, Resources]:
        """Return the resource usage of each kernel entry, by name."""
        return parse_resources(self.log)


def find_compiler() -> Tool:
    """Return ptxas, or nvJitLink if ptxas is missing; raise MissingToolError if both are missing."""
    try:
        return find_tool("ptxas")
    except MissingToolError as missing:
        try:
            return find_nvjitlink()
        except MissingToolError:
            raise missing from None


def assemble(
    text: str,
    target: str,
    *,
    options: Sequence[str] = (),
    cache: CubinCache | None = None,
    tool: Tool | None = None,
) -> Assembly:
    """Compile `text` for `target` with ptxas and further `options`; use the result in `cache` if present.

    Without ptxas, nvJitLink compiles it in this process. Raises AssemblyError for text that the compiler rejects, with
    every message in `diagnostics`. Raises ToolchainError if ptxas and nvJitLink are missing, or if the compiler crashes
    or is too old for the text's `.version` or target.
    """
    compiler = tool or find_compiler()
    if cache is None:
        return _assemble(compiler, text, target, tuple(options))
    key = cache.key(text, target, options, compiler.identity)
    stored = cache.get(key)
    assembly = _unpack(stored) if stored is not None else None
    if assembly is None:
        assembly = _assemble(compiler, text, target, tuple(options))
        cache.put(key, _pack(assembly))
    return assembly


def resources(text: str, target: str, *, options: Sequence[str] = ()) -> Mapping[str, Resources]:
    """Compile `text` for `target`, and return the resource usage of each kernel entry by name."""
    return assemble(text, target, options=options).resources


def _assemble(compiler: Tool, text: str, target: str, options: tuple[str, ...]) -> Assembly:
    work = link if compiler.name == NVJITLINK else _run_ptxas
    cubin, outcome = work(compiler, text, target, options)
    if outcome.status:
        raise refusal(compiler, text, target, outcome)
    return Assembly(cubin, outcome.output)


def _run_ptxas(ptxas: Tool, text: str, target: str, options: tuple[str, ...]) -> tuple[bytes, Outcome]:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="pyptx-") as name:
        folder = Path(name)
        (folder / "module.ptx").write_bytes(text.encode("utf-8", "surrogateescape"))
        outcome = run(ptxas, ["-v", f"-arch={target}", *options, "module.ptx", "-o", "module.cubin"], folder)
        return b"" if outcome.status else (folder / "module.cubin").read_bytes(), outcome


def refusal(tool: Tool, text: str, target: str, outcome: Outcome) -> ToolchainError:
    """Return the error for a failed run of the compiler."""
    log, wheel = outcome.output, WHEELS.get(tool.name, "nvidia-cuda-nvcc")
    too_new = _TOO_NEW.search(log)
    if too_new:
        return _too_new(tool, wheel, (int(too_new[1]), int(too_new[2])), too_new[3])
    unknown = _UNKNOWN_TARGET.search(log)
    if unknown:
        return ToolchainError(
            f"{tool.name} {tool.version} does not support target {unknown[1] or unknown[2] or target}",
            help=f"pip install --upgrade {wheel}, or choose another arch (CUDA 13 dropped targets before sm_75)",
        )
    remarks = parse_log(log)
    errors = [remark for remark in remarks if remark.is_error]
    if not errors and outcome.signal:
        return ToolchainError(
            f"{tool.name} {tool.version} crashed ({outcome.signal}) without a message",
            help="bisect the PTX for the instruction that crashes ptxas; some malformed instructions do",
        )
    if not errors:
        return AssemblyError(f"{tool.name} {tool.version} failed for {target}", where=log.strip() or None, log=log)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return AssemblyError(
        f"{tool.name} rejects the PTX for {target}: {errors[0].message}{more}",
        where=locate(text, errors[0]),
        diagnostics=remarks,
        log=log,
    )


def _too_new(tool: Tool, wheel: str, wanted: tuple[int, int], newest: str) -> ToolchainError:
    major, minor = release_for(wanted)
    return ToolchainError(
        f".version {wanted[0]}.{wanted[1]} is too new: {tool.name} {tool.version} reads PTX up to {newest}",
        help=f'pip install --upgrade "{wheel}>={major}.{minor}", or write .version {newest}',
    )


def _pack(assembly: Assembly) -> bytes:
    log = assembly.log.encode()
    return len(log).to_bytes(8, "little") + log + assembly.cubin


def _unpack(stored: bytes) -> Assembly | None:
    size = int.from_bytes(stored[:8], "little")
    if len(stored) < 8 + size:
        return None
    return Assembly(stored[8 + size :], stored[8 : 8 + size].decode())
