"""Bundle folders: replaced atomically, and read without following links."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_bundles.manifest import NAME, File
from pyptx_dsl.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_MANIFEST: Final = 1 << 24
_MOST_FILES: Final = 10_000
# Windows lacks O_NOFOLLOW and O_NONBLOCK; there, the check of the opened file rejects links and pipes.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def described(name: str, data: bytes) -> File:
    """Return the manifest's entry for a file: its name, size in bytes, and SHA-256."""
    return File(name, len(data), hashlib.sha256(data).hexdigest())


# --- writing --------------------------------------------------------------------------------------


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` to the folder `path`, and replace an older bundle there atomically.

    Raises BundleError if something else exists at `path`, or if writing fails.
    """
    import shutil
    import tempfile

    refuse_strangers(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        try:
            for name, data in files.items():
                (fresh / name).write_bytes(data)
            fresh.chmod(0o777 & ~_umask())
            _exchange(fresh, path)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise BundleError(f"cannot write the bundle to {path}: {error}") from None


def refuse_strangers(path: Path) -> None:
    """Raise BundleError if `path` exists and is neither a bundle nor an empty folder, to protect other files."""
    if not path.is_symlink() and (not path.exists() or (path.is_dir() and _is_ours(path))):
        return
    raise BundleError(f"{path} exists and is not a bundle", help="choose another folder, or remove it")


def _is_ours(path: Path) -> bool:
    return (path / NAME).is_file() or not any(path.iterdir())


def _umask() -> int:
    """Return the umask of the process, which os.umask returns only when it sets a new umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _exchange(fresh: Path, path: Path) -> None:
    """Exchange the folders `fresh` and `path`, if `path` exists; else rename `fresh` to `path`."""
    if not path.exists():
        fresh.rename(path)
        return
    old = fresh.with_name(fresh.name + "-old")
    path.rename(old)
    try:
        fresh.rename(path)
    except OSError:
        old.rename(path)
        raise
    old.rename(fresh)


# --- reading --------------------------------------------------------------------------------------


def read_manifest_bytes(path: Path) -> bytes:
    """Return the bytes of the manifest of the bundle at `path`; raise BundleError if it does not exist."""
    if not path.is_dir():
        raise BundleError(
            f"{path} is not a folder", help="create a bundle with pyptx export MODULE:KERNEL --shape … -o FOLDER"
        )
    if not os.path.lexists(path / NAME):
        raise BundleError(f"{path} is not a bundle: {NAME} not found")
    return _read(path, NAME, _MOST_MANIFEST)


def read_files(path: Path, files: Sequence[File]) -> dict[str, bytes]:
    """Return the files listed in the manifest, sizes and digests checked; the folder must contain no other files."""
    _check_listing(path, [file.name for file in files])
    return {file.name: _checked(file, _read(path, file.name, file.bytes)) for file in files}


def _check_listing(path: Path, named: Sequence[str]) -> None:
    if len(set(named)) != len(named):
        raise BundleError("duplicate file name in the manifest")
    present = set[str]()
    with os.scandir(path) as listing:
        for item in listing:
            present.add(item.name)
            if len(present) > _MOST_FILES:
                raise BundleError(f"{path} contains more than {_MOST_FILES} files")
    wanted = {NAME, *named}
    missing, extra = sorted(wanted - present), sorted(present - wanted)
    if missing:
        raise BundleError(f"{path} lacks {_some(missing)}, listed in its manifest", help="copy the bundle again")
    if extra:
        raise BundleError(f"{path} contains {_some(extra)}, not listed in its manifest", help="remove it")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(ascii(name[:80]) for name in names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _read(path: Path, name: str, most: int) -> bytes:
    """Return the bytes of a regular file; raise BundleError if the file has more than `most` bytes."""
    try:
        handle = os.open(path / name, _FLAGS)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or (path / name).is_symlink():
                raise BundleError(f"{name} is not a regular file")
            if status.st_size > most:
                raise BundleError(f"{name} has {status.st_size} bytes, the maximum is {most}")
            return file.read(most + 1)
    except OSError as error:
        raise BundleError(f"cannot read {name} as a regular file: {error.strerror}") from None


def _checked(file: File, data: bytes) -> bytes:
    if len(data) != file.bytes:
        raise BundleError(
            f"{file.name} has {len(data)} bytes, its manifest entry {file.bytes}", help="copy the bundle again"
        )
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise BundleError(
            f"{file.name} has changed since the export: its SHA-256 differs", help="copy the bundle again"
        )
    return data
