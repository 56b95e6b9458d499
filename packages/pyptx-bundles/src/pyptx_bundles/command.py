"""`pyptx export`: the command line for ahead-of-time compilation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_bundles.export import export
from pyptx_bundles.folder import read_manifest_bytes
from pyptx_bundles.manifest import read_manifest
from pyptx_dsl.errors import KernelFileError
from pyptx_dsl.kernels.files import reported
from pyptx_dsl.kernels.loading import named_kernel, pairs, values_of
from pyptx_ir.command_line import ERRORS, USAGE_ERROR, CommandParser, run
from pyptx_ir.errors import PyptxError
from pyptx_ir.terminal.progress import show_progress

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def export_command(argv: Sequence[str]) -> int:
    """Export a kernel; return exit code 0, 1 if the kernel cannot be exported, 2 for a usage error."""
    return run(export_parser(), _exported, argv)


def _exported(options: argparse.Namespace) -> int:
    try:
        shapes = [_sizes(word) for word in options.shape]
        settings = {name: value for word in options.set for name, value in _setting(word).items()}
    except KernelFileError as error:
        sys.stderr.write(f"pyptx export: {error.message}\n")
        return USAGE_ERROR
    try:
        with (
            reported(f"cannot export {options.kernel}", Path.cwd()),
            show_progress("compiling"),
            named_kernel(options.kernel) as (kernel, values),
        ):
            choices = [values_of(kernel, {**values, **shape, **settings}) for shape in shapes or [{}]]
            path = export(kernel, choices, options.output, name=options.name, arch=options.arch)
    except PyptxError as error:
        sys.stderr.write(f"pyptx export: {error}\n")
        return ERRORS
    manifest = read_manifest(read_manifest_bytes(path))
    sys.stdout.write("".join(f"{path / file.name} {file.bytes}\n" for file in manifest.files))
    return 0


def export_parser() -> CommandParser:
    """Return the parser of the options of `pyptx export`."""
    parser = CommandParser(
        "export",
        "Compile a kernel ahead of time into a folder: machine code, PTX, a manifest for pyptx.load, and a "
        "C header and source that need neither Python nor a CUDA toolkit.",
        output=False,
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


def _sizes(word: str) -> dict[str, str]:
    """Return the names and sizes in a `--shape` option such as `B=16,N=512`."""
    return pairs(word, f"--shape {word}")


def _setting(word: str) -> dict[str, str]:
    """Return the name and value in a `--set` option, whose value may contain commas."""
    name, equals, value = word.partition("=")
    if not (equals and name.strip().isidentifier() and value.strip()):
        raise KernelFileError(f"--set {word}: expected NAME=VALUE, got {word!r}")
    return {name.strip(): value.strip()}
