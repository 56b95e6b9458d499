"""Recording of a timeline to a file: format, and number of CTAs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.drawing import Markup
from pyptx_sim.errors import LaunchError
from pyptx_sim.timeline.chrome import chrome_trace
from pyptx_sim.timeline.drawing import drawing
from pyptx_sim.timeline.instrument import WatchedEngine, WatchedLog, watched
from pyptx_sim.timeline.recorder import Recorder
from pyptx_sim.timeline.source_lines import SourceLines

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.timeline.model import Timeline


@dataclass(frozen=True, slots=True)
class _Format:
    """File format: function that returns the file's text for a timeline, and default number of recorded CTAs."""

    write: Callable[[Timeline, SourceLines], str]
    ctas: int


_FORMATS: Final = {".json": _Format(chrome_trace, 8), ".svg": _Format(drawing, 1)}


class Recording:
    """Recording of a timeline, which is written to a file even if the run fails.

    `drawing` is the written drawing; None before the end of the run, and for other formats.
    """

    def __init__(self, path: str | os.PathLike[str], ctas: int | None, machine: Machine) -> None:
        """Record the first `ctas` CTAs of `machine`, rounded up to whole clusters; the suffix of `path` is the format.

        Raise LaunchError for an unknown suffix, a folder that does not exist, and a count below 1.
        """
        self._path = Path(path)
        form = _FORMATS.get(self._path.suffix)
        if form is None:
            raise LaunchError(
                f"trace must be a .json or .svg file, got {str(path)!r}", help='pass trace="timeline.json"'
            )
        if not self._path.parent.is_dir():
            raise LaunchError(f"trace={str(path)!r}: no such folder", help="create the folder first")
        if ctas is not None and ctas < 1:
            raise LaunchError(f"trace_blocks must be positive, got {ctas}", help="pass the number of CTAs to record")
        self._write = form.write
        self.drawing: Markup | None = None
        self._places = SourceLines(machine.program, machine.log.origin_of)
        self._recorder = self._attached(machine, form.ctas if ctas is None else ctas)

    def _attached(self, machine: Machine, ctas: int) -> Recorder:
        """Return a recorder that observes `machine`."""
        size = machine.launch.cluster_size
        recorder = Recorder(machine.program.entry.name, self._places, -(-ctas // size) * size)
        machine.code = watched(machine.code, recorder)
        machine.make_engine = partial(WatchedEngine, recorder)
        machine.observers = machine.observers.beside(recorder)
        machine.log = WatchedLog.of(machine.log, recorder)
        return recorder

    def write(self, error: str | None = None) -> None:
        """Write the recorded timeline to the file; `error` is the error that ended the run, if any."""
        timeline = self._recorder.finish(error)
        text = self._write(timeline, self._places)
        self.drawing = text if isinstance(text, Markup) else None
        self._path.write_text(f"{text}\n", encoding="utf-8")
