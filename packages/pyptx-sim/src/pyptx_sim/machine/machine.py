"""The machine: runs a program over a grid, wave by wave (a wave: CTAs that are resident together)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyptx_ir.errors import PyptxError
from pyptx_sim.errors import InternalError, SimulationError, StepLimitExceeded
from pyptx_sim.machine.asynchrony.engine import Engine
from pyptx_sim.machine.backlog import Backlog
from pyptx_sim.machine.barriers.barriers import Barriers
from pyptx_sim.machine.geometry import MOST_WARPS, MULTIPROCESSORS, Geometry
from pyptx_sim.machine.grids import Grids
from pyptx_sim.machine.memory.arena import Arena
from pyptx_sim.machine.memory.frames import Frames
from pyptx_sim.machine.memory.spaces import FlatMemory, LocalMemory, SharedMemory
from pyptx_sim.machine.observers import Observers
from pyptx_sim.machine.reports.deadlock import describe_deadlock
from pyptx_sim.machine.reports.unfinished import finish
from pyptx_sim.machine.scheduling.livelock import Watch
from pyptx_sim.machine.scheduling.polling import Polling
from pyptx_sim.machine.scheduling.scheduler import Scheduler
from pyptx_sim.machine.scheduling.warp_splits import State
from pyptx_sim.machine.wave import Wave
from pyptx_sim.origins import point_at
from pyptx_sim.program.layout import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyptx_ir.plugins.rows import SharedVariable
    from pyptx_sim.findings import FindingLog
    from pyptx_sim.machine.asynchrony.engine import Timing
    from pyptx_sim.machine.geometry import Configuration
    from pyptx_sim.machine.memory.heap import Heap
    from pyptx_sim.machine.memory.spaces import SpaceMemory
    from pyptx_sim.machine.memory.texels import Handles
    from pyptx_sim.machine.scheduling.code import Block, Code, Group
    from pyptx_sim.observer import Past, Space
    from pyptx_sim.program.program import Program

# Warps per wave: register arrays of 8192 lanes fit the cache and cost little more than NumPy's call overhead.
WAVE_WARPS = 256

# Warps per wave if CTAs wait for each other: the resident warps of a whole GPU.
RESIDENT_WARPS = MULTIPROCESSORS * MOST_WARPS

# Number of basic blocks that chosen warps execute before the scheduler, livelock detection and step limit run again.
_CHAIN = 32


class Machine:
    """One launch: the program, the memory that persists across waves, and counters.

    `checked`: faults become findings in `log`; otherwise they raise. `delay_async`: asynchronous operations complete
    only when a thread waits for them. `past`: older values that reads may still return under weak memory. `printed`:
    text that the kernel printed. `grids`: state of programmatic dependent launches. `handles`: textures, samplers and
    surfaces by handle.
    """

    def __init__(
        self,
        program: Program,
        code: Code,
        launch: Configuration,
        memories: Mapping[str, FlatMemory],
        heap: Heap,
        log: FindingLog,
        *,
        checked: bool,
        warps: int = WAVE_WARPS,
    ) -> None:
        """Prepare a launch; `memories` holds the global, the constant and the parameter space."""
        self.program = program
        self.code = code
        self.launch = launch
        self.memories = memories
        self.heap = heap
        self.log = log
        self.checked = checked
        self.observers = Observers(())
        self.past: Past | None = None
        self.printed: list[str] = []
        self.steps = self.instructions = self.waves = 0
        self.step_limit: int | None = None
        self.delay_async = False
        self.handles: Handles = {}
        self.allocations: Sequence[SharedVariable] = ()
        self.make_engine: Callable[[Timing, np.random.Generator | None], Engine] = Engine
        self.shared_end = program.shared.dynamic + launch.shared_bytes if launch.shared_bytes else program.shared.end
        self.shared_stride = aligned(self.shared_end, 128)
        self.starved = self.stopped = False
        self.grids = Grids(self)
        self._widest = warps >= RESIDENT_WARPS
        self.ctas_per_wave = self._ctas_per_wave(warps)
        self._cancellable = program.cancels_launches and not launch.cooperative and not self._widest
        self.backlog = self._all_clusters(None)
        self._shared = Arena(self.ctas_per_wave * self.shared_stride, track=checked)
        self._latest: Wave | None = None
        self._local = Arena(self.wave_warps * 32 * program.local_size, track=checked)

    def _ctas_per_wave(self, warps: int) -> int:
        launch = self.launch
        if launch.cooperative:
            return launch.ctas
        most, said = warps // launch.warps_per_cta, launch.resident_blocks
        if said is not None:
            most = max(most, said) if self._widest else said
        clusters = most // launch.cluster_size
        return min(max(clusters, 1) * launch.cluster_size, launch.ctas)

    @property
    def wave_warps(self) -> int:
        """Maximum number of warps that run together."""
        return self.ctas_per_wave * self.launch.warps_per_cta

    @property
    def finished_ctas(self) -> int:
        """Number of CTAs that have exited, or whose launch was canceled."""
        launch, wave = self.launch, self._latest
        running = 0 if wave is None else int(np.count_nonzero(wave.running_ctas))
        return launch.ctas - len(self.backlog) * launch.cluster_size - running

    @property
    def steps_of_wave(self) -> int:
        """Number of basic blocks that the current wave has executed."""
        return 0 if self._latest is None else self._latest.steps

    @property
    def geometry(self) -> Geometry:
        """Geometry of the current wave."""
        assert self._latest is not None  # noqa: S101 - a wave runs
        return self._latest.geometry

    def arena(self, space: Space) -> Arena:
        """Return the arena (bytes) of a state space; for an extension's space, the arena of the current wave."""
        if space == "shared":
            return self._shared
        memories = self.memories if self._latest is None else self._latest.memories
        return memories[space].arena

    def describe(self, space: Space, offset: int) -> str:
        """Return a symbolic address, such as `x[3]`, for an offset in the arena of `space`."""
        memory = self._latest.memories[space] if self._latest is not None else self.memories[space]
        return memory.describe_offset(offset)

    def where(self, pc: int) -> str:
        """Return the PTX line of an instruction for an error, with the user's source line if there is one."""
        user = point_at(self.log.origin_of(pc))
        return self.program.where(pc) + (f"\n{user}" if user else "")

    def turns(self, random: np.random.Generator | None) -> Iterator[bool]:
        """Run all waves; yield after every scheduler step: True, or False if only other grids can continue.

        Afterwards, `stopped` is true if a deadlock was reported, or if CTAs wait for unlaunched CTAs (`starved`).
        """
        self.backlog = self._all_clusters(random)
        while self.backlog and not self.stopped:
            wave = self._wave(random)
            yield from self._turns_of_wave(wave, random)

    def _all_clusters(self, random: np.random.Generator | None) -> Backlog:
        launch = self.launch
        most, said = self.ctas_per_wave // launch.cluster_size, launch.resident_blocks is not None
        return Backlog(launch.clusters, most, cancellable=self._cancellable, said=said, random=random)

    def cancel_launch(self) -> tuple[int, int, int] | None:
        """Remove a cluster that has not been launched; return the (x, y, z) of its first CTA, or None."""
        cluster = self.backlog.cancel()
        return None if cluster is None else self.launch.first_cta(cluster)

    def _wave(self, random: np.random.Generator | None) -> Wave:
        launch, program = self.launch, self.program
        geometry = Geometry(launch, self.backlog.launch())
        if self.waves:
            self._shared.clear()
            if program.uses_stack:
                self._local.clear()
        self.waves += 1
        size = launch.cluster_size
        memories: dict[str, SpaceMemory] = dict(self.memories)
        memories["shared"] = SharedMemory(
            self._shared, program, self.shared_end, self.shared_stride, geometry.cta, size, self.allocations
        )
        memories["local"] = LocalMemory(self._local, program.local_size, geometry.height)
        barriers = Barriers(geometry.ctas)
        engine = self.make_engine("late" if self.delay_async else "random" if random is not None else "ordered", random)
        wave = Wave(self, geometry, memories, Frames(), barriers, engine)
        for part in (barriers, engine, wave.mbarriers):
            part.attach(wave)
        self._latest = wave
        self.grids.wave_started(wave)
        self.observers.wave_started()
        return wave

    def _turns_of_wave(self, wave: Wave, random: np.random.Generator | None) -> Iterator[bool]:
        scheduler, watch = Scheduler(wave, self.code, random), Watch()
        while True:
            picked = scheduler.pick()
            if picked is None and self.grids.pending and len(wave.splits.alive()):
                yield False
                continue
            if picked is None:
                break
            index, group = picked
            if watch.stuck(wave, index) and not wave.engine.complete_all():
                if self.grids.pending:
                    yield False
                elif not scheduler.force_gates():
                    self._give_up(wave)
                    return
            wave.watching = watch.watching
            scheduler.in_order(now=watch.unchanging(wave))
            self._execute(wave, self.code[index], group, scheduler)
            yield True
        self.steps += wave.steps
        finish(wave)
        if len(wave.splits.alive()):
            self.stopped = True
            describe_deadlock(wave, self.code)

    def _give_up(self, wave: Wave) -> None:
        """Report warps that spin forever; if they may wait for CTAs that have not started, set `starved` instead.

        Two cases are reported although CTAs have not started. A kernel that cancels launches does not wait for
        unlaunched CTAs if all spinning warps wait at mbarriers of their own wave. If the launch limits the resident
        CTAs and none of these has exited, no device would start another CTA.
        """
        self.stopped = True
        splits, waits = wave.splits, wave.mbarriers.waits
        spinning = splits.warp[splits.state == State.READY].tolist()
        among_themselves = self._cancellable and all(warp in waits for warp in spinning)
        full = self.launch.resident_blocks is not None and bool(wave.running_ctas.all())
        self.starved = bool(self.backlog) and not self._widest and not among_themselves and not full
        if not self.starved:
            describe_deadlock(wave, self.code)

    def _execute(self, wave: Wave, block: Block, group: Group, scheduler: Scheduler) -> None:
        """Execute basic blocks for `group` until its warp splits diverge, wait or exit, or other splits must run."""
        splits, lanes = wave.splits, group.lanes
        try:
            for _ in range(_CHAIN):
                wave.steps += 1
                polls = block.polls
                if polls is not None and polls.entry == block.index:
                    wave.part(Polling).begin(polls, group)
                for wave.pc, step in block.steps:
                    step(wave, lanes)
                self.instructions += len(group.ids) * (len(block.steps) + (block.terminator is not None))
                wave.pc = block.end
                target = block.following if block.terminator is None else block.terminator(wave, group)
                if target is not None:
                    splits.block[group.ids] = target
                if polls is not None:
                    wave.part(Polling).end(polls, group)
                if target is None:
                    break
                block = self.code[target]
                if scheduler.interrupts(group, block):
                    break
        except SimulationError as error:
            error.locate(self.where(wave.pc))
            raise
        except PyptxError:
            raise
        except Exception as error:
            where = self.where(wave.pc)
            raise InternalError(f"{type(error).__name__} in the simulator: {error}", where=where) from error
        if self.step_limit is not None and self.steps + wave.steps > self.step_limit:
            raise StepLimitExceeded(
                f"step limit of {self.step_limit} exceeded",
                where=self.where(wave.pc),
                help="check for an infinite loop, or raise step_limit (--steps)",
            )
