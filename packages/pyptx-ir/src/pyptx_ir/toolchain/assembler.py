"""PTX to cubin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.toolchain.diagnostics import Diagnostic, locate, parse_log
from pyptx_ir.toolchain.errors import AssemblyError, ToolchainError
from pyptx_ir.toolchain.finder import Tool, find_tool, release_for
from pyptx_ir.toolchain.resources import Resources, parse_resources
from pyptx_ir.toolchain.runner import Outcome, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.toolchain.cache import CubinCache

_TOO_NEW = re.compile(r"Unsupported \.version (\d+)\.(\d+); current version is '([\d.]+)'")
_UNKNOWN_TARGET = re.compile(r"Value '(\S+)' is not defined for option 'gpu-name'|Unsupported \.target '(\S+)'")


@dataclass(frozen=True, slots=True)
class Assembly:
    """A cubin and what ptxas said while making it."""

    cubin: bytes
    log: str

    @property
    def advisories(self) -> tuple[Diagnostic, ...]:
        """Return the warnings and advice (performance notes, ignored directives), without the statistics."""
        return tuple(remark for remark in parse_log(self.log) if not remark.is_error)

    @property
    def resources(self) -> Mapping[str, Resources]:
        """Return what each entry costs, by name."""
        return parse_resources(self.log)


def assemble(
    text: str,
    target: str,
    *,
    options: Sequence[str] = (),
    cache: CubinCache | None = None,
    tool: Tool | None = None,
) -> Assembly:
    """Run ptxas on `text` for `target`, with further `options`; take the result from `cache` if it is there.

    Raises AssemblyError for text that ptxas refuses, with every remark in `diagnostics`, and ToolchainError when ptxas
    is missing, too old for the text's `.version` or target, or crashes.
    """
    ptxas = tool or find_tool("ptxas")
    if cache is None:
        return _assemble(ptxas, text, target, tuple(options))
    key = cache.key(text, target, options, f"{ptxas.name} {ptxas.version}")
    stored = cache.get(key)
    assembly = _unpack(stored) if stored is not None else None
    if assembly is None:
        assembly = _assemble(ptxas, text, target, tuple(options))
        cache.put(key, _pack(assembly))
    return assembly


def resources(text: str, target: str, *, options: Sequence[str] = ()) -> Mapping[str, Resources]:
    """Return what each entry of `text` costs on `target`."""
    return assemble(text, target, options=options).resources


def _assemble(ptxas: Tool, text: str, target: str, options: tuple[str, ...]) -> Assembly:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="pyptx-") as name:
        folder = Path(name)
        (folder / "module.ptx").write_bytes(text.encode("utf-8", "surrogateescape"))
        arguments = ["-v", f"-arch={target}", *options, "module.ptx", "-o", "module.cubin"]
        outcome = run(ptxas, arguments, folder)
        if outcome.status:
            raise refusal(ptxas, text, target, outcome)
        return Assembly((folder / "module.cubin").read_bytes(), outcome.output)


def refusal(ptxas: Tool, text: str, target: str, outcome: Outcome) -> ToolchainError:
    """Compose the error for a run that failed."""
    log = outcome.output
    too_new = _TOO_NEW.search(log)
    if too_new:
        return _too_new(ptxas, (int(too_new[1]), int(too_new[2])), too_new[3])
    unknown = _UNKNOWN_TARGET.search(log)
    if unknown:
        return ToolchainError(
            f"ptxas {ptxas.version} does not know the target {unknown[1] or unknown[2]}",
            hint="pip install --upgrade nvidia-cuda-nvcc, or choose another arch (CUDA 13 dropped those before sm_75)",
        )
    remarks = parse_log(log)
    errors = [remark for remark in remarks if remark.is_error]
    if not errors and outcome.signal:
        return ToolchainError(
            f"ptxas {ptxas.version} crashed ({outcome.signal}) and did not say why",
            hint="some malformed instructions make it do so: halve the text to find the line",
        )
    if not errors:
        return AssemblyError(f"ptxas {ptxas.version} failed for {target}", where=log.strip() or None, log=log)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return AssemblyError(
        f"ptxas refuses this for {target}: {errors[0].message}{more}",
        where=locate(text, errors[0]),
        diagnostics=remarks,
        log=log,
    )


def _too_new(ptxas: Tool, wanted: tuple[int, int], newest: str) -> ToolchainError:
    major, minor = release_for(wanted)
    return ToolchainError(
        f"the text says .version {wanted[0]}.{wanted[1]}; ptxas {ptxas.version} reads PTX up to {newest}",
        hint=f'pip install --upgrade "nvidia-cuda-nvcc>={major}.{minor}", or ask for .version {newest}',
    )


def _pack(assembly: Assembly) -> bytes:
    log = assembly.log.encode()
    return len(log).to_bytes(8, "little") + log + assembly.cubin


def _unpack(stored: bytes) -> Assembly | None:
    size = int.from_bytes(stored[:8], "little")
    if len(stored) < 8 + size:
        return None
    return Assembly(stored[8 + size :], stored[8 : 8 + size].decode())
