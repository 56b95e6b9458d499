"""Where a timeline goes: which file, in which format, of how many blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_sim.errors import LaunchError
from pyptx_sim.machine.observers import Observers
from pyptx_sim.timeline.chrome import chrome_trace
from pyptx_sim.timeline.drawing import drawing
from pyptx_sim.timeline.instrument import WatchedEngine, WatchedLog, watched
from pyptx_sim.timeline.places import Places
from pyptx_sim.timeline.recorder import Recorder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_ir.plugins.rows import Frame
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.observer import Observer
    from pyptx_sim.timeline.model import Timeline


@dataclass(frozen=True, slots=True)
class _Format:
    """A format of files: how a timeline is written, and of how many blocks if nobody says."""

    write: Callable[[Timeline, Places], str]
    ctas: int


_FORMATS: Final = {".json": _Format(chrome_trace, 8), ".svg": _Format(drawing, 1)}


class Recording:
    """A timeline that is to be written to a file, whatever comes of the run."""

    def __init__(self, path: str | os.PathLike[str], ctas: int | None) -> None:
        """Choose the format by the suffix of `path`; record the first `ctas` blocks, and of clusters all blocks.

        Raise LaunchError for a suffix that is no format's, a folder that does not exist, and a count below 1.
        """
        self._path = Path(path)
        form = _FORMATS.get(self._path.suffix)
        if form is None:
            raise LaunchError(f"trace={str(path)!r} is neither .json nor .svg", hint='trace="timeline.json"')
        if not self._path.parent.is_dir():
            raise LaunchError(f"trace={str(path)!r}: there is no such folder", hint="create it first")
        if ctas is not None and ctas < 1:
            raise LaunchError(f"trace_blocks={ctas} records nothing", hint="pass a positive number of blocks")
        self._form = form
        self._ctas = form.ctas if ctas is None else ctas
        self._recorder: Recorder
        self._places: Places

    def attach(self, machine: Machine, origins: Mapping[int, tuple[Frame, ...]], observers: Sequence[Observer]) -> None:
        """Record what `machine` will do, beside its other observers."""
        size = machine.launch.cluster_size
        self._places = Places(machine.program, origins)
        recorder = Recorder(machine.program.entry.name, self._places, -(-self._ctas // size) * size)
        machine.code = watched(machine.code, recorder)
        machine.make_engine = partial(WatchedEngine, recorder)
        machine.observers = Observers([*observers, recorder])
        machine.log = WatchedLog.of(machine.log, recorder)
        self._recorder = recorder

    def write(self, error: str | None = None) -> None:
        """Write what has been recorded; `error` is what the run ended with."""
        timeline = self._recorder.finish(error)
        self._path.write_text(self._form.write(timeline, self._places), encoding="utf-8")
