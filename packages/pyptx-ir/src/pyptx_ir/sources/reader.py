"""Read the PTX modules of an input, given its name."""

from __future__ import annotations

import re
import sys
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.plugins.source_rows import CommandInput, PtxSource, SourceFormat, target_of
from pyptx_ir.sources.errors import SourceError
from pyptx_ir.sources.texts import PTX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

INPUTS: Final = (
    "a kernel of a Python file (FILE.py:KERNEL; its sizes are options: --B 16); PTX, a cuobjdump listing, or a file "
    "with PTX images (lib.so#2: the second); a folder of PTX files, or a pattern such as '**/*.ptx'; -: standard input"
)
ARCH: Final = "in a file with several modules, read only the modules with this .target"
_HEAD: Final = 4096
_NUMBERED = re.compile(r"(.+)#([0-9]{1,9})", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)")
_MOST_SHOWN: Final = 20


def expanded(names: Iterable[str]) -> list[str]:
    """Return the names of inputs: folders are replaced by the `.ptx` files below them, patterns by their matches.

    Shells expand patterns, too, but not on Windows, and not `**`. A name that exists is not a pattern.

    Raises:
        SourceError: a folder contains no `.ptx` file, or a pattern matches nothing.

    """
    return [each for name in names for each in _expanded(name)]


def _expanded(name: str) -> Sequence[str]:
    if Path(name).is_dir():
        found = sorted(str(path) for path in Path(name).rglob("*.ptx") if path.is_file())
        if not found:
            raise SourceError(f"{name} is a folder without .ptx files")
        return found
    if not has_magic(name) or Path(name).exists():
        return [name]
    found = sorted(each for each in glob(name, recursive=True) if not Path(each).is_dir())  # noqa: PTH207 - any pattern
    if not found:
        raise SourceError(f"no file matches {name}")
    return found


def read_sources(name: str, arch: str | None = None) -> Sequence[PtxSource]:
    """Return the PTX modules in an input, at least one.

    `name` is a path, `-` for standard input, `lib.so#2` for the second module of a file that holds several, or a name
    that a plugin's `pyptx_sources` reads. With `arch` only modules whose `.target` names it are returned.

    Raises:
        OSError: the input can't be read.
        SourceError: it has no PTX, or none for `arch`; it is damaged; it is in another known language.

    """
    numbered = None if Path(name).exists() else _NUMBERED.fullmatch(name)
    source = opened(numbered[1] if numbered else name)
    found = _format(source).read(source)
    if numbered:
        number = int(numbered[2])
        found = [each for each in found if each.number == number]
        if not found:
            raise SourceError(f"{source.name} has no PTX module #{number}")
    return found if arch is None else _for_target(source, found, arch)


def read_source(name: str, arch: str | None = None) -> PtxSource:
    """Return the only PTX module in an input.

    Raises the errors of `read_sources`, and SourceError, with a list of the modules, if there are several.
    """
    found = read_sources(name, arch)
    if len(found) > 1:
        raise SourceError(
            f"{found[0].file} contains {len(found)} PTX modules:\n{described(found)}",
            help=f"choose one module: {found[0].name}, or --arch if one module has that target",
        )
    return found[0]


def described(found: Sequence[PtxSource]) -> str:
    """Return a line for each module: its name as a command's argument, target and kernels. At most 20 are shown."""
    lines = list[str]()
    for each in found[:_MOST_SHOWN]:
        text = each.load()
        lines.append(f"  {each.name}  {target_of(text)}  {', '.join(_ENTRY.findall(text))}".rstrip())
    rest = len(found) - len(lines)
    return "\n".join([*lines, f"  and {rest} more"] if rest else lines)


def opened(name: str) -> CommandInput:
    """Return an input by its name; read it if it can be read only once. Raise OSError if that fails."""
    if name == "-":
        data = sys.stdin.buffer.read()
        return CommandInput("<stdin>", data[:_HEAD], held=data)
    path = Path(name)
    if path.is_file():
        with path.open("rb") as file:
            return CommandInput(name, file.read(_HEAD), path)
    if not path.exists():
        # Some formats need no file, only its name; the others report the missing file.
        return CommandInput(name, path=path)
    data = path.read_bytes()
    return CommandInput(name, data[:_HEAD], held=data)


def _format(source: CommandInput) -> SourceFormat:
    if PTX.begins is not None and PTX.begins.match(source.head):  # plain PTX is recognized before any plugin is loaded
        return PTX
    from pyptx_ir.plugins.manager import manager

    rows = manager().sources()
    by_content = [row for row in rows if row.begins is not None and row.begins.match(source.head)]
    by_name = [row for row in rows if row.named is not None and row.named.search(source.name)]
    return next(iter((*by_content, *by_name)), PTX)


def _for_target(source: CommandInput, found: Sequence[PtxSource], arch: str) -> Sequence[PtxSource]:
    targets = [target_of(each.load()) for each in found]
    wanted = [each for each, target in zip(found, targets, strict=True) if target == arch]
    if not wanted:
        raise SourceError(
            f"{source.name} has no PTX for {arch}",
            help=f"choose one of the file's targets: {', '.join(dict.fromkeys(targets))}",
        )
    return wanted
