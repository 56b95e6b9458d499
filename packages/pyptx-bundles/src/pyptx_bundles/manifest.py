"""Writer and validating reader of a bundle's `manifest.json`; equal bundles have equal manifest bytes."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_bundles.kernel_signature import KernelSignature, plain_signature, read_signature
from pyptx_dsl.errors import BundleError
from pyptx_dsl.json_fields import Field
from pyptx_ir.toolchain.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.rows import Specialization

FORMAT: Final = 4
NAME: Final = "manifest.json"
Plain: TypeAlias = bool | int | float | str

_IDENTIFIER: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_KEYWORD: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_VERSION: Final = re.compile(r"[\w.+ -]+", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST_NAME: Final = 200
_LONGEST_VALUE: Final = 1000
_MOST_ENTRIES: Final = 4096
_MOST_KEYWORDS: Final = 256
_MOST_FILE: Final = 1 << 30
_MOST_RESOURCE: Final = 1 << 31
_MOST_DIGITS: Final = 40

_MEMBERS: Final = ("format", "name", "pyptx", "compiler", "kernels", "entries", "files")
_ENTRY: Final = ("name", "kernel", "keywords", "record", "resources")
_FILE: Final = ("name", "bytes", "sha256")
_COUNTS: Final = tuple(row.name for row in fields(Resources) if row.name not in {"entry", "target", "constant"})


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """A specialization: `name` names its files and C functions, `keywords` has its sizes and template values."""

    name: str
    kernel: str
    keywords: Mapping[str, Plain]
    special: Specialization
    cubin: bytes
    resources: Resources


@dataclass(frozen=True, slots=True)
class File:
    """The manifest's entry for one file of the bundle, such as a cubin; `bytes` is the size of that file."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Announced:
    """A specialization whose files have not been read: `record` is its JSON data, without the PTX text."""

    name: str
    kernel: str
    keywords: Mapping[str, Plain]
    record: Field
    resources: Resources


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest; each field is validated, but not yet against other fields or files."""

    name: str
    version: str
    compiler: str
    kernels: tuple[KernelSignature, ...]
    entries: tuple[Announced, ...]
    files: tuple[File, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """Properties of a whole bundle: its name, the versions of pyptx and of the compiler, and its kernels."""

    name: str
    version: str
    compiler: str
    kernels: tuple[KernelSignature, ...]


def compose(heading: Heading, entries: Sequence[BundleEntry], files: Sequence[File]) -> bytes:
    """Return the bytes of a manifest: JSON with sorted keys, one member per line."""
    from pyptx_bundles.record import record

    rows = list[dict[str, object]]()
    for entry in entries:
        described = record(entry.special)
        del described["text"]  # the PTX text is stored in a separate file
        counts = {key: value for key, value in asdict(entry.resources).items() if key in _COUNTS}
        resources = {**counts, "constant": [list(pair) for pair in entry.resources.constant]}
        rows.append(
            {
                "name": entry.name,
                "kernel": entry.kernel,
                "keywords": dict(entry.keywords),
                "record": described,
                "resources": resources,
            }
        )
    document = {
        "format": FORMAT,
        "name": heading.name,
        "pyptx": heading.version,
        "compiler": heading.compiler,
        "kernels": [plain_signature(signature) for signature in heading.kernels],
        "entries": rows,
        "files": [asdict(file) for file in files],
    }
    return (json.dumps(document, indent=1, sort_keys=True, allow_nan=False) + "\n").encode("ascii")


def read_manifest(data: bytes) -> Manifest:
    """Return the parsed manifest; raise BundleError for anything that `compose` does not write."""
    document = Field("manifest", _json(data))
    for name, member in document.pairs(_MOST_KEYWORDS):  # check `format` before other members, which depend on it
        if name == "format":
            _check_format(member)
    found = document.members(_MEMBERS)
    return Manifest(
        found["name"].text(_LONGEST_NAME, _IDENTIFIER),
        found["pyptx"].text(_LONGEST_NAME, _VERSION),
        found["compiler"].text(_LONGEST_NAME, _VERSION),
        tuple(read_signature(item) for item in found["kernels"].items(_MOST_ENTRIES, 1)),
        tuple(_announced(item) for item in found["entries"].items(_MOST_ENTRIES, 1)),
        tuple(_file(item) for item in found["files"].items(2 * _MOST_ENTRIES + 2)),
    )


def _check_format(field: Field) -> None:
    if field.integer(0, 2**31) != FORMAT:
        raise BundleError(
            f"the bundle has format {field.value}, but this version of pyptx reads format {FORMAT}",
            help="export the kernel again with this version, or load it with the version that exported it",
        )


def _announced(field: Field) -> Announced:
    found = field.members(_ENTRY)
    return Announced(
        found["name"].text(_LONGEST_NAME, _IDENTIFIER),
        found["kernel"].text(_LONGEST_NAME, _KEYWORD),
        _keywords(found["keywords"]),
        found["record"],
        _resources(found["resources"]),
    )


def _keywords(field: Field) -> dict[str, Plain]:
    found = dict[str, Plain]()
    for name, value in field.pairs(_MOST_KEYWORDS):
        Field(f"a name in {field.path}", name).text(_LONGEST_NAME, _KEYWORD)
        match value.value:
            case bool() | float() as given:
                found[name] = given
            case int():
                found[name] = value.integer(-(2**63), 2**64)
            case _:
                found[name] = value.text(_LONGEST_VALUE)
    return found


def _resources(field: Field) -> Resources:
    found = field.members((*_COUNTS, "constant"))
    counts = {name: found[name].integer(0, _MOST_RESOURCE) for name in _COUNTS}
    constant = [[one.integer(0, _MOST_RESOURCE) for one in pair.items(2, 2)] for pair in found["constant"].items(32)]
    return Resources("", "", **counts, constant=tuple((bank, size) for bank, size in constant))


def _file(field: Field) -> File:
    found = field.members(_FILE)
    return File(
        found["name"].text(_LONGEST_NAME + 10),
        found["bytes"].integer(0, _MOST_FILE),
        found["sha256"].text(64, _DIGEST),
    )


# --- JSON, strictly -------------------------------------------------------------------------------


def _json(data: bytes) -> object:
    """Parse standard JSON with unique keys, finite numbers, and integers of limited length."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(f"{NAME} is not UTF-8: {error.reason} at byte {error.start}") from None
    try:
        document: object = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_float
        )
    except json.JSONDecodeError as error:
        raise BundleError(f"{NAME} is not JSON: {error.msg}, line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise BundleError(f"{NAME} is nested too deeply") from None
    return document


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict[str, object]()
    for name, value in pairs:
        if name in found:
            raise BundleError(f"{NAME} has duplicate members {name[:_LONGEST_NAME]!r} in one object")
        found[name] = value
    return found


def _constant(word: str) -> object:
    raise BundleError(f"{NAME} contains {word}, which is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise BundleError(f"{NAME} contains an integer of {len(digits)} digits")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise BundleError(f"{NAME} contains {digits[:_MOST_DIGITS]}, which is out of range")
    return number
