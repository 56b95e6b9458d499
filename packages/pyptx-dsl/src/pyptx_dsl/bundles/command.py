"""`pyptx export`: the command line for ahead-of-time compilation."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pyptx_dsl.bundles.export import export
from pyptx_dsl.bundles.folder import read_manifest_bytes
from pyptx_dsl.bundles.manifest import read_manifest
from pyptx_dsl.errors import BundleError, UnknownTypeError, close
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.origin import locate, user_frame
from pyptx_dsl.types import PtxType, from_name
from pyptx_ir.command_line import ERRORS, USAGE_ERROR, CommandParser, run
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from types import ModuleType


def export_command(argv: Sequence[str]) -> int:
    """Export a kernel; return exit code 0, 1 if the kernel cannot be exported, 2 for a usage error."""
    return run(_parser(), _exported, argv)


def _exported(options: argparse.Namespace) -> int:
    try:
        shapes = [_pairs("--shape", word) for word in options.shape]
        settings = {name: value for word in options.set for name, value in _pairs("--set", word).items()}
    except BundleError as error:
        sys.stderr.write(f"pyptx export: {error.message}\n")
        return USAGE_ERROR
    here = locate(user_frame())
    try:
        kernel = find_kernel(options.kernel)
        choices = [_choice(kernel, {**shape, **settings}) for shape in shapes or [{}]]
        path = export(kernel, choices, options.output, name=options.name, arch=options.arch)
    except PyptxError as error:
        sys.stderr.write(f"pyptx export: {_told(error, here)}\n")
        return ERRORS
    manifest = read_manifest(read_manifest_bytes(path))
    sys.stdout.write("".join(f"{path / file.name} {file.bytes}\n" for file in manifest.files))
    return 0


def _told(error: PyptxError, here: str | None) -> str:
    """Return an error's text, without its location if the location is `here`, a line of the running command."""
    return str(error if error.where != here else PyptxError(error.message, help=error.help))


def _parser() -> CommandParser:
    parser = CommandParser(
        "export",
        "Compile a kernel ahead of time into a folder: machine code, PTX, a manifest for pyptx.load, and a "
        "C header and source that need neither Python nor a CUDA toolkit.",
    )
    parser.add_argument(
        "kernel", metavar="MODULE:KERNEL", help="dotted module or Python file, a colon, and the name of a kernel in it"
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="FOLDER", help="folder to create for the bundle"
    )
    parser.add_argument("--arch", metavar="sm_XY", help="trace and check the kernel for this target, not its own")
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="B=16,N=512",
        help="sizes of named dimensions; each --shape adds a specialization",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="eps=1e-6", help="value of a template parameter or raw parameter"
    )
    parser.add_argument("--name", metavar="NAME", help="name of the C functions and files; default: the kernel's name")
    return parser


def _pairs(option: str, word: str) -> dict[str, str]:
    """Return the names and values in an option such as `B=16,N=512`; raise BundleError for other syntax."""
    found = dict[str, str]()
    for part in word.split(",") if option == "--shape" else [word]:
        name, equals, value = part.partition("=")
        if not (equals and name.strip().isidentifier() and value.strip()):
            raise BundleError(f"{option} {word}: expected NAME=VALUE, got {part!r}")
        found[name.strip()] = value.strip()
    return found


def _choice(kernel: Kernel, words: Mapping[str, str]) -> dict[str, object]:
    return {name: _value(kernel.template_params.get(name), word) for name, word in words.items()}


def _value(default: object, word: str) -> object:
    """Return the value of a `--shape` or `--set` text: a Python literal, a PTX type if `default` is a type, or text."""
    if isinstance(default, PtxType):
        try:
            return from_name(word)
        except UnknownTypeError as error:
            raise BundleError(error.message, help=error.help) from None
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return word


def find_kernel(word: str) -> Kernel:
    """Return the kernel named `module:kernel` or `path/to/file.py:kernel`; raise BundleError if it does not exist."""
    place, colon, name = word.rpartition(":")
    if not (colon and place and name):
        raise BundleError(
            f"expected MODULE:KERNEL, got {word!r}", help="write MODULE:KERNEL, such as my.kernels:rms_norm"
        )
    module = _module(place)
    found = getattr(module, name, None)
    if isinstance(found, Kernel):
        return cast("Kernel", found)
    kernels = tuple(each for each, value in vars(module).items() if isinstance(value, Kernel))
    problem = "is not a kernel" if hasattr(module, name) else "does not exist"
    help = close(name, kernels) if kernels else "the module defines no kernel; decorate a function with @kernel"
    raise BundleError(f"{place}: {name} {problem}", help=help)


def _module(place: str) -> ModuleType:
    """Import a module like `python -m` (from the current folder) or `python FILE` (from the file's folder)."""
    import importlib

    path = Path(place)
    is_file = path.suffix == ".py"
    if is_file and not path.is_file():
        raise BundleError(f"file not found: {place}")
    sys.path.insert(0, str(path.resolve().parent if is_file else Path.cwd()))
    try:
        return _from_file(path) if is_file else importlib.import_module(place)
    except PyptxError:
        raise
    except Exception as error:
        raise BundleError(f"cannot import {place}: {type(error).__name__}: {error}", where=_place(error)) from error
    finally:
        sys.path.pop(0)


def _from_file(path: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"_exported_{path.stem}"  # name of the imported script; the prefix avoids the name of an installed module
    spec = spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise BundleError(f"cannot import {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look up a class's module in sys.modules
    spec.loader.exec_module(module)
    return module


def _place(error: BaseException) -> str:
    """Return the line of user code at which an import failed."""
    from pyptx_dsl.origin import show

    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    code = last.tb_frame.f_code
    return show(code.co_filename, last.tb_lineno, code.co_name)
