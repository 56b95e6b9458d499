"""Bundles are untrusted data: loading a damaged one raises a BundleError that names the fault, and no other error."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyptx
from pyptx.bundles import BundleError, export

from . import bundle_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.ptxas

NAME = "scale"
CHOICE = {"N": 64, "alpha": 0.5}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an undamaged bundle."""
    return export(bundle_kernels.scale, [CHOICE], tmp_path_factory.mktemp("sound") / "bundle")


@pytest.fixture
def bundle(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "bundle")
    return tmp_path / "bundle"


def manifest(bundle: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((bundle / "manifest.json").read_bytes())
    return read


def write_manifest(bundle: Path, document: object) -> None:
    (bundle / "manifest.json").write_text(json.dumps(document), encoding="utf-8")


def forge(bundle: Path, name: str, data: bytes) -> None:
    """Replace a file of the bundle, and the file's digest in the manifest."""
    (bundle / name).write_bytes(data)
    document = manifest(bundle)
    for file in document["files"]:
        if file["name"] == name:
            file.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    write_manifest(bundle, document)


def text(data: bytes | str) -> Callable[[Path], None]:
    """Return a function that replaces the whole manifest."""
    return lambda bundle: (bundle / "manifest.json").write_bytes(data if isinstance(data, bytes) else data.encode())


def replaced(old: str, new: str) -> Callable[[Path], None]:
    """Return a function that replaces text everywhere in the manifest."""

    def apply(bundle: Path) -> None:
        before = (bundle / "manifest.json").read_text(encoding="utf-8")
        assert old in before
        (bundle / "manifest.json").write_text(before.replace(old, new), encoding="utf-8")

    return apply


def put(value: object, *path: str | int) -> Callable[[Path], None]:
    """Return a function that replaces or adds a member of the manifest."""

    def apply(bundle: Path) -> None:
        document: Any = manifest(bundle)
        inner = document
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        write_manifest(bundle, document)

    return apply


def without(*path: str | int) -> Callable[[Path], None]:
    def apply(bundle: Path) -> None:
        document: Any = manifest(bundle)
        inner = document
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
        write_manifest(bundle, document)

    return apply


def ptx(old: str, new: str) -> Callable[[Path], None]:
    """Return a function that replaces the PTX text and its digest."""

    def apply(bundle: Path) -> None:
        before = (bundle / f"{NAME}.ptx").read_text(encoding="utf-8")
        assert old in before
        forge(bundle, f"{NAME}.ptx", before.replace(old, new).encode())

    return apply


def cubin(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return a function that replaces the cubin and its digest."""
    return lambda bundle: forge(bundle, f"{NAME}.cubin", change((bundle / f"{NAME}.cubin").read_bytes()))


def linked(bundle: Path) -> None:
    (bundle / "scale.ptx").rename(bundle.parent / "elsewhere")
    (bundle / "scale.ptx").symlink_to(bundle.parent / "elsewhere")


def manifest_linked(bundle: Path) -> None:
    (bundle / "manifest.json").rename(bundle.parent / "elsewhere")
    (bundle / "manifest.json").symlink_to(bundle.parent / "elsewhere")


def pipe(bundle: Path) -> None:
    (bundle / "scale.ptx").unlink()
    os.mkfifo(bundle / "scale.ptx")


def folder_in_place(bundle: Path) -> None:
    (bundle / "scale.ptx").unlink()
    (bundle / "scale.ptx").mkdir()


def grown(bundle: Path) -> None:
    """Extend a file of the bundle to a huge sparse file."""
    os.truncate(bundle / "scale.cubin", 1 << 40)


def second_kernel(bundle: Path) -> None:
    document = manifest(bundle)
    document["kernels"].append({**document["kernels"][0], "name": "other"})
    write_manifest(bundle, document)


def file_twice(bundle: Path) -> None:
    document = manifest(bundle)
    document["files"].append(document["files"][0])
    write_manifest(bundle, document)


def twin(bundle: Path) -> None:
    document = manifest(bundle)
    document["entries"].append({**document["entries"][0], "name": "Scale"})
    write_manifest(bundle, document)


def stranger(bundle: Path) -> None:
    """Add an `entries` item to the manifest, with other template names than the first item."""
    document = manifest(bundle)
    document["entries"].append({**document["entries"][0], "name": "more", "keywords": {"N": 64}})
    for end in ("ptx", "cubin"):
        shutil.copy(bundle / f"scale.{end}", bundle / f"more.{end}")
        row = next(file for file in document["files"] if file["name"] == f"scale.{end}")
        document["files"].append({**row, "name": f"more.{end}"})
    write_manifest(bundle, document)


R = ("entries", 0, "record")

# Changes of a bundle, each with the expected error message.
HARMED: dict[str, tuple[Callable[[Path], None], str]] = {
    # faults of the bundle's folder
    "it is gone": (shutil.rmtree, "is not a folder"),
    "the bundle has no manifest": (lambda bundle: (bundle / "manifest.json").unlink(), "manifest.json not found"),
    "the manifest is a symbolic link": (manifest_linked, "cannot read manifest.json as a regular file"),
    "a listed file is missing": (lambda bundle: (bundle / "scale.c").unlink(), "lacks 'scale.c'"),
    "the bundle contains an unlisted file": (
        lambda bundle: (bundle / "x\n.so").touch(), r"contains 'x\\n.so', not listed in"
    ),
    "the bundle contains an unlisted folder": (
        lambda bundle: (bundle / "__pycache__").mkdir(), "contains '__pycache__'"
    ),
    "a file is a symbolic link": (linked, r"cannot read scale.ptx as a regular file"),
    "a file is a named pipe": (pipe, "scale.ptx is not a regular file"),
    "a file is a folder": (folder_in_place, r"(scale.ptx is not a regular file|cannot read scale.ptx)"),
    "a file has 2^40 bytes": (grown, r"scale.cubin has 1099511627776 bytes, the maximum is \d+"),
    "a file is truncated": (lambda bundle: os.truncate(bundle / "scale.h", 100), "scale.h has 100 bytes"),
    "a file has changed since the export": (
        lambda bundle: (bundle / "scale.ptx").write_bytes(b" " * (bundle / "scale.ptx").stat().st_size),
        "scale.ptx has changed since the export: its SHA-256 differs",
    ),
    # faults of the manifest's JSON text
    "the manifest is empty": (text(""), "is not JSON"),
    "the manifest is not UTF-8": (text(b'{"format": "\xff"}'), "is not UTF-8"),
    "the manifest is UTF-16": (text("{}".encode("utf-16")), "is not UTF-8"),
    "the manifest begins with a byte-order mark": (text("\ufeff{}"), "is not JSON"),
    "the manifest is a JSON list": (text("[]"), "manifest is a list: expected an object"),
    "the manifest is truncated": (text('{"format": 4, "name": "sc'), "is not JSON"),
    "a second JSON value follows the manifest": (text("{} {}"), "is not JSON"),
    "the manifest nests lists too deeply": (text("[" * 200_000), "is nested too deeply"),
    "the manifest nests objects too deeply": (text('{"a":' * 200_000), "is nested too deeply"),
    "a key of the manifest is duplicated": (
        replaced('"format": 4', '"format": 4, "format": 4'), "duplicate members 'format'"
    ),
    "a key of the record is duplicated": (replaced('"grid": [', '"grid": [1, 1, 1], "grid": ['), "duplicate members"),
    "a number is NaN": (replaced('"shared_bytes": 0', '"shared_bytes": NaN'), "contains NaN, which is not JSON"),
    "a number in the manifest is infinite": (
        replaced('"shared_bytes": 0', '"shared_bytes": -Infinity'), "contains -Infinity"
    ),
    "a number is too large for a double": (replaced('"shared_bytes": 0', '"shared_bytes": 1e999'), "out of range"),
    "a number has 5000 digits": (
        replaced('"shared_bytes": 0', '"shared_bytes": ' + "9" * 5000),
        "an integer of 5000 digits",
    ),
    # faults of the manifest's members
    "the format number is newer than this pyptx": (
        put(5, "format"), "has format 5, but this version of pyptx reads format 4"
    ),
    "the format number is a string": (put("2", "format"), "manifest.format is '2': expected an integer"),
    "the format number is missing": (without("format"), "missing members: format"),
    "the manifest has an unknown member": (put(1, "exec"), "unknown member 'exec'"),
    "an unknown member is named by a terminal escape sequence": (
        put(1, "\x1b[2J\ud800"), r"unknown member '\\x1b\[2J\\ud800'"
    ),
    "the bundle's name is a path outside the folder": (put("../evil", "name"), "manifest.name is '../evil'"),
    "the bundle's name is an absolute path": (put("/etc/passwd", "name"), "manifest.name is '/etc/passwd'"),
    "an entry's name is a path outside the folder": (
        put("../scale", "entries", 0, "name"), r"entries\[0\].name is '../scale'"
    ),
    "an entry's name is a Windows path": (put("C:\\scale", "entries", 0, "name"), r"entries\[0\].name"),
    "an entry's name is empty": (put("", "entries", 0, "name"), r"entries\[0\].name is ''"),
    "an entry's name contains a NUL character": (put("sc\0ale", "entries", 0, "name"), r"entries\[0\].name"),
    "an entry's kernel is not listed": (put("other", "entries", 0, "kernel"), "lists other kernels than its entries"),
    "a listed kernel has no entry": (second_kernel, "lists other kernels than its entries"),
    "the list of entries is empty": (put([], "entries"), "the list has 0 items, expected 1 to"),
    "two entries' names differ only in letter case": (twin, "duplicate names of entries"),
    "an entry has other template names than the first": (stranger, "not specializations of one kernel"),
    "a file's name is a path outside the folder": (
        put("../scale.c", "files", 0, "name"), "does not belong to the bundle: '../scale.c'"
    ),
    "a file is listed twice": (file_twice, "duplicate file name"),
    "a file has a negative size": (put(-1, "files", 0, "bytes"), r"files\[0\].bytes is -1"),
    "a file has a size of 2^62 bytes": (put(1 << 62, "files", 0, "bytes"), r"files\[0\].bytes"),
    "a SHA-256 digest has only two digits": (put("00", "files", 0, "sha256"), r"files\[0\].sha256 is '00'"),
    "a SHA-256 digest has capital letters": (put("A" * 64, "files", 0, "sha256"), r"files\[0\].sha256"),
    "a keyword's value is a list": (put({"N": [64]}, "entries", 0, "keywords"), "keywords.N is a list"),
    "a keyword is not an identifier": (put({"a b": 1}, "entries", 0, "keywords"), "a name in .*keywords is 'a b'"),
    "a keyword's value has 2000 characters": (put("x" * 2000, "entries", 0, "keywords", "dtype"), "2000 characters"),
    "the size of dimension N is missing": (without("entries", 0, "keywords", "N"), "have different arrays or scalars"),
    "the size of dimension N is not the array's": (
        put(65, "entries", 0, "keywords", "N"), "have different arrays or scalars"
    ),
    "the size of dimension N is negative": (
        put(-64, "entries", 0, "keywords", "N"), "have different arrays or scalars"
    ),
    "resources are negative": (put(-1, "entries", 0, "resources", "registers"), "resources.registers is -1"),
    "the compiler's name is a terminal escape sequence": (put("\x1b]0;", "compiler"), "manifest.compiler"),
    # faults of the manifest's description of the kernel
    "a tile's element type is not the array's": (
        put("f64", "kernels", 0, "inputs", 0, "dtype"), "different arrays or scalars"
    ),
    "a tile's layout is not the array's": (
        put("TMA_128B", "kernels", 0, "inputs", 0, "layout"), "different arrays or scalars"
    ),
    "a tile's layout is an unknown name": (put("DIAGONAL", "kernels", 0, "inputs", 0, "layout"), "expected one of ROW"),
    "a tile has no dimensions": (put([], "kernels", 0, "inputs", 0, "shape"), "expected 1 to"),
    "a tile's dimension is zero": (put([0], "kernels", 0, "inputs", 0, "shape"), "expected 1 to"),
    "a tile's dimension is Python code": (
        put(["__import__('os')"], "kernels", 0, "inputs", 0, "shape"), r"shape\[0\] is .__imp"
    ),
    "the kernel's list of arrays lacks an array": (put(["X"], "kernels", 0, "tensors"), "different arrays or scalars"),
    "the kernel's list of scalars set at launch is empty": (
        put([], "kernels", 0, "open"), "different arrays or scalars"
    ),
    "a scalar's position is past the last argument": (
        put(2, "kernels", 0, "open", 0, "position"), "different arrays or scalars"
    ),
    "a scalar's position is negative": (put(-1, "kernels", 0, "open", 0, "position"), r"position is -1"),
    "a scalar's position is a string": (put("1", "kernels", 0, "open", 0, "position"), "expected an integer"),
    "a scalar set at launch has the wrong type": (
        put("u64", "kernels", 0, "open", 0, "type"), "different arrays or scalars"
    ),
    # faults of the specialization record; other faults of its fields are in `test_bundle_records`
    "the record contains the PTX text": (put("ret;", *R, "text"), "the PTX text must be in a separate file"),
    "the grid has 65536 CTAs along y": (put([2**31 - 1, 65536, 1], *R, "grid"), "grid.y is 65536"),
    "the block has 2^20 threads": (put([1024, 1024, 1], *R, "block"), "1048576 threads"),
    "the shared memory has 2^40 bytes": (put(2**40, *R, "shared_bytes"), "shared_bytes is 1099511627776"),
    "the specialization record's target is not the PTX text's": (
        put("sm_90a", *R, "target"), "the PTX text is for target sm_80, the record for sm_90a"
    ),
    "an output has a stride of 0": (put([0], *R, "outputs", 0, "strides"), r"strides\[0\] is 0"),
    "an output is larger than its tile": (put([1 << 40], *R, "outputs", 0, "shape"), "different arrays or scalars"),
    # faults of the PTX text and the cubin, whose digests match the manifest
    "the PTX text is for another target": (
        ptx("sm_80", "sm_86"), "the PTX text is for target sm_86, the record for sm_80"
    ),
    "the PTX text has another entry": (ptx(".entry scale", ".entry shale"), "defines 0 entries named scale"),
    "the PTX text has fewer parameters": (ptx(".param .u64 X,", ""), "has 3 parameters in the PTX text and 4"),
    "the PTX text has another parameter type": (
        ptx(".param .u32 count", ".param .u64 count"), "count .* does not match"
    ),
    "the PTX text has a syntax error": (ptx("ret;", "ret"), "the text is not valid PTX"),
    "the PTX text is binary": (lambda bundle: forge(bundle, "scale.ptx", bytes(range(256))), "a NUL"),
    "the PTX text is empty": (lambda bundle: forge(bundle, "scale.ptx", b""), "the PTX text is for target nothing"),
    "the cubin is empty": (cubin(lambda _: b""), "is not a cubin"),
    "the cubin is a shell script": (cubin(lambda _: b"#!/bin/sh\n" * 50), "is not a cubin"),
    "the cubin is an x86-64 program": (
        cubin(lambda data: data[:18] + b"\x3e\x00" + data[20:]),
        "an ELF file for machine 62",
    ),
    "the cubin is a 32-bit ELF file": (cubin(lambda data: data[:4] + b"\x01" + data[5:]), "is not a cubin"),
    "the cubin is for another target": (
        cubin(lambda data: data[:49] + b"\x5a" + data[50:]),
        "machine code for sm_90, but its record is for sm_80",
    ),
    "the cubin has another entry": (cubin(lambda data: data.replace(b"scale", b"shale")), "contains no code for entry"),
}  # fmt: skip


def test_the_bundle_that_nobody_touched_loads(bundle: Path) -> None:
    kernel = pyptx.load(str(bundle))["scale"]
    assert isinstance(kernel, pyptx.bundles.LoadedKernel)
    write_manifest(bundle, manifest(bundle))  # only the manifest's whitespace changes
    assert pyptx.load(bundle)["scale"].ptx() == kernel.ptx()


@pytest.mark.parametrize("name", HARMED)
def test_what_is_wrong_is_said(name: str, bundle: Path) -> None:
    harm, message = HARMED[name]
    harm(bundle)
    with pytest.raises(BundleError, match=message):
        pyptx.load(bundle)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value in a JSON document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
OFTEN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def loads_or_says_why(bundle: Path) -> None:
    with contextlib.suppress(BundleError):
        pyptx.load(bundle)


@OFTEN
@given(data=st.data())
@pytest.mark.long
def test_any_value_may_stand_anywhere_in_the_manifest(data: st.DataObject, bundle: Path, sound: Path) -> None:
    document = manifest(sound)
    path = data.draw(st.sampled_from(sorted(places(document), key=str)))
    value = data.draw(JSON)
    if path:
        inner: Any = document
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
    write_manifest(bundle, document if path else value)
    loads_or_says_why(bundle)


@OFTEN
@given(data=st.data())
def test_any_bytes_of_the_manifest_may_change(data: st.DataObject, bundle: Path, sound: Path) -> None:
    before = (sound / "manifest.json").read_bytes()
    start = data.draw(st.integers(0, len(before)))
    end = data.draw(st.integers(start, min(start + 40, len(before))))
    (bundle / "manifest.json").write_bytes(before[:start] + data.draw(st.binary(max_size=20)) + before[end:])
    loads_or_says_why(bundle)


@OFTEN
@given(data=st.data(), end=st.sampled_from(["ptx", "cubin"]))
def test_any_bytes_of_a_file_may_change_with_its_digest(
    data: st.DataObject, end: str, bundle: Path, sound: Path
) -> None:
    before = (sound / f"scale.{end}").read_bytes()
    start = data.draw(st.integers(0, min(len(before), 2000)))
    stop = data.draw(st.integers(start, min(start + 40, len(before))))
    forge(bundle, f"scale.{end}", before[:start] + data.draw(st.binary(max_size=20)) + before[stop:])
    loads_or_says_why(bundle)
