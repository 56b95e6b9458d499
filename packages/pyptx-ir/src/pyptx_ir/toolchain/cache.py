"""Cache of cubins on disk, keyed by content, safe for concurrent processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.toolchain.errors import CacheWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# First bytes of a cache entry; a new layout of entries or keys gets new first bytes.
_MAGIC = b"pyptx-cubin-1\n"
_CHECKSUM_BYTES = 32
_SUFFIX = ".cubin"
_DAY = 24 * 3600


def default_folder() -> Path:
    """Return `PYPTX_CACHE_DIR`, or `pyptx` in the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`)."""
    import os
    from pathlib import Path

    chosen = os.environ.get("PYPTX_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pyptx"


@dataclass(frozen=True, slots=True)
class CubinCache:
    """A folder of entries with checksums; each entry is written atomically.

    An entry that does not match its checksum is removed and counts as absent. Once a day a `put` removes the least
    recently used entries until the size is at most `max_bytes`.
    """

    folder: Path = field(default_factory=default_folder)
    max_bytes: int = 1 << 30

    @staticmethod
    def key(text: str, target: str, options: Sequence[str], tool: str) -> str:
        """Return the cache key of an assembly: a digest of all inputs of the compiler."""
        import hashlib

        digest = hashlib.sha256(_MAGIC)
        for part in (tool, target, str(len(options)), *options, text):
            encoded = part.encode("utf-8", "surrogateescape")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()

    def get(self, key: str) -> bytes | None:
        """Return the stored bytes of the entry for `key`; None if the entry is missing or damaged."""
        import contextlib
        import hashlib
        import os

        path = self._path(key)
        try:
            stored = path.read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + _CHECKSUM_BYTES
        payload = stored[head:]
        if stored[:head] != _MAGIC + hashlib.sha256(payload).digest():
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):  # a cache in a read-only folder still returns its entries
            os.utime(path)  # the mtime of an entry is its last use, for `prune`
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store the entry of `key`; warn with CacheWarning, and continue, if the folder can't be written."""
        try:
            self.store(key, payload)
        except OSError as error:
            import warnings

            warnings.warn(
                f"the cubin cache {self.folder} is not writable ({error}); set PYPTX_CACHE_DIR to a writable folder",
                CacheWarning,
                stacklevel=2,
            )

    def store(self, key: str, payload: bytes) -> None:
        """Store the entry of `key`; raise OSError if the folder can't be written."""
        self._write(self._path(key), payload)
        self._prune_daily()

    def prune(self, max_bytes: int) -> int:
        """Remove least recently used entries until at most `max_bytes` remain; return the number of bytes removed."""
        entries = sorted(self.entries(), key=lambda entry: entry[2], reverse=True)
        kept = removed = 0
        for path, size, _ in entries:
            if kept + size <= max_bytes:
                kept += size
                continue
            path.unlink(missing_ok=True)
            removed += size
        return removed

    def clear(self) -> None:
        """Remove every entry from the cache folder."""
        for path, _, _ in self.entries():
            path.unlink(missing_ok=True)

    def size(self) -> int:
        """Return the total size of the cached entries in bytes."""
        return sum(size for _, size, _ in self.entries())

    def __len__(self) -> int:
        """Return the number of cubins in the cache."""
        return sum(1 for _ in self.entries())

    def __contains__(self, key: object) -> bool:
        """Return whether the cache has a valid entry for `key`."""
        return isinstance(key, str) and self.get(key) is not None

    def __bool__(self) -> bool:
        """Return True, so that an empty cache is not false in conditions."""
        return True

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{_SUFFIX}"

    def _write(self, path: Path, payload: bytes) -> None:
        import hashlib
        import os
        import tempfile
        from pathlib import Path

        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink()
            raise

    def _prune_daily(self) -> None:
        """Prune the cache unless a process has done so in the last day; the mtime of the file `pruned` is that time."""
        import time

        stamp = self.folder / "pruned"
        if stamp.exists() and time.time() - stamp.stat().st_mtime < _DAY:
            return
        stamp.touch()
        self.prune(self.max_bytes)

    def entries(self) -> Iterator[tuple[Path, int, float]]:
        """Yield path, size in bytes and time of last use of every entry; skip entries that are removed concurrently."""
        for path in self.folder.glob(f"??/*{_SUFFIX}"):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            yield path, status.st_size, status.st_mtime
