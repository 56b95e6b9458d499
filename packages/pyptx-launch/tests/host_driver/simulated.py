"""Launches of the host driver, executed by the simulator in host memory, at the addresses passed to kernels.

`install` turns a null driver loaded into this process into a host driver: a launch runs when the program waits for it,
and writes its results. PTX is checked when it is loaded. A cubin runs from its PTX source, known from `register` or the
file `$HOST_DRIVER_IMAGES/<sha256 of the cubin>.ptx`. The simulator has no notion of time: each of its steps counts as
`NANOSECONDS`, so that kernels that poll a clock register end soon.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import sys
import traceback
from ctypes import CFUNCTYPE, POINTER, c_char, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint64, c_ulong, c_void_p
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

END: Final = 0x7FFF_FFFF_F000  # end of the address space; device memory is below, registered host memory may be above
RESERVED: Final = 64 << 20  # bytes at the start of memory for the running module's variables and heap
NANOSECONDS: Final = 100_000  # nanoseconds of simulated time per simulator step
STEPS: Final = 5_000_000  # simulated steps after which a kernel counts as endless
NEWEST_PTX: Final = (9, 0)  # PTX version of CUDA 13.0, which the driver reports
UNSUPPORTED_VERSION, LAUNCH_TIMEOUT, LAUNCH_FAILED, UNKNOWN = 222, 702, 719, 999
INVALID_VALUE, INVALID_PTX, ILLEGAL_ADDRESS, MISALIGNED_ADDRESS, NOT_SUPPORTED = 1, 218, 700, 716, 801
# PTX type of each CUtensorMapDataType, in the order of its numbers.
ELEMENTS: Final = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz",
)  # fmt: skip


class Request(ctypes.Structure):
    """A launch request: see driver.h."""

    _fields_ = (
        ("entry", c_char_p), ("image", c_void_p), ("image_bytes", c_size_t),
        ("grid", c_uint * 3), ("block", c_uint * 3), ("cluster", c_uint * 3), ("shared", c_uint),
        ("device", c_int), ("parameters", c_void_p), ("parameter_bytes", c_size_t), ("library", c_uint64),
        ("context", c_void_p),
    )  # fmt: skip


LAUNCH = CFUNCTYPE(c_int, POINTER(Request))
LOAD = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_char), c_size_t)
MAP = CFUNCTYPE(c_int, c_void_p, c_uint64, c_char_p, c_char_p)

_texts: dict[str, str] = {}  # PTX text of each simulated cubin, by the cubin's digest


def register(image: bytes, ptx: str) -> None:
    """Register the PTX of a cubin."""
    _texts[hashlib.sha256(image).hexdigest()] = ptx


def text_of(image: bytes) -> str:
    """Return an image's PTX text; KeyError for a cubin whose PTX source is not registered."""
    if not image.startswith(b"\x7fELF"):
        return image.rstrip(b"\0").decode()
    digest = hashlib.sha256(image).hexdigest()
    folder = os.environ.get("HOST_DRIVER_IMAGES")
    known = Path(folder) / f"{digest}.ptx" if folder else None
    if digest not in _texts and known is not None and known.exists():
        _texts[digest] = known.read_text(encoding="utf-8")
    return _texts[digest]


def said(what: str) -> None:
    """Print why a kernel failed; the host driver returns only an error code."""
    print(f"host driver: {what}", file=sys.stderr, flush=True)  # noqa: T201 - no caller to return it to


# --- launches ---------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _compiled(text: str, entry: str) -> tuple[Any, Any]:
    from pyptx_ir.syntax import parse
    from pyptx_sim.instructions.compiling.table import compile_program
    from pyptx_sim.program.lowering import lower

    program = lower(parse(text), entry)
    return program, compile_program(program, checked=False, exact=True)


class Simulator:
    """Runs launches in host memory, one after another; the clock is computed from `steps`, the simulated steps."""

    def __init__(self, driver: ctypes.CDLL) -> None:
        """View all memory from GLOBAL_WINDOW on as a byte array; bytes outside of allocations are never accessed."""
        import numpy as np

        from pyptx_sim.machine import specials
        from pyptx_sim.machine.memory.arena import Arena
        from pyptx_sim.program.windows import GLOBAL_WINDOW

        self._driver = driver
        self._arena = Arena(0, track=False)
        self._arena.data = np.ctypeslib.as_array((c_uint8 * (END - GLOBAL_WINDOW)).from_address(GLOBAL_WINDOW))
        self._window = GLOBAL_WINDOW
        self._known: tuple[int, int] | None = None
        self._allocated: list[Any] = []
        self._variables: dict[tuple[int, str], Any] = {}
        self.steps = 0
        specials._CYCLES_PER_STEP = NANOSECONDS  # type: ignore[attr-defined] # simulated clock

    def run(self, request: Any) -> None:
        """Simulate one launch; raise the simulator's exceptions."""
        from pyptx_sim.findings import FindingLog
        from pyptx_sim.launch import Launch
        from pyptx_sim.limits import configuration_of
        from pyptx_sim.machine.grids import run_in_order
        from pyptx_sim.machine.machine import RESIDENT_WARPS, WAVE_WARPS, Machine

        image = ctypes.string_at(request.image, request.image_bytes)
        entry = request.entry.decode()
        program, code = _compiled(text_of(image), entry)
        grid, block, cluster = (tuple(each) for each in (request.grid, request.block, request.cluster))
        asked = Launch(grid=grid, block=block, cluster=cluster, shared_bytes=request.shared)
        launch = configuration_of(program, asked)
        memories, heap = self._memories(program, request)
        together = launch.ctas * launch.warps_per_cta <= RESIDENT_WARPS  # CTAs may wait for each other if resident
        warps = RESIDENT_WARPS if together else WAVE_WARPS
        log = FindingLog(program.place, program.opcode, program.frames, {})
        machine = Machine(program, code, launch, memories, heap, log, checked=False, warps=warps)
        machine.steps, machine.step_limit = self.steps, self.steps + STEPS
        run_in_order([machine], 0)
        self.steps = machine.steps
        self._variables[request.library, entry] = self._arena.data[: len(program.globals.data)].copy()

    def _memories(self, program: Any, request: Any) -> tuple[dict[str, Any], Any]:
        from pyptx_sim.arguments import _bank, _constants, _fill, _named
        from pyptx_sim.machine.memory.buffers import Buffers
        from pyptx_sim.machine.memory.heap import Heap
        from pyptx_sim.machine.memory.spaces import FlatMemory

        variables = self._variables.get((request.library, request.entry.decode()))
        _fill(self._arena, 0, program.globals.data if variables is None else variables)
        buffers = Buffers([*map(_named, program.globals.placements), *self._live(request.context)])
        bank = bytearray(program.parameter_bytes)
        given = ctypes.string_at(request.parameters, request.parameter_bytes) if request.parameter_bytes else b""
        bank[: len(given)] = given
        memories = {
            "global": FlatMemory("global", self._arena, buffers),
            "const": _constants(program, None, checked=False),
            "param": _bank(bytes(bank), checked=False),
        }
        return memories, Heap((len(program.globals.data) + 4095) // 4096 * 4096, RESERVED, buffers)

    def _live(self, context: int) -> list[Any]:
        """Return the memory that a context's kernels can access, cached until allocations change."""
        from pyptx_sim.machine.memory.buffers import Buffer

        asked = (self._driver.null_driver_allocations_version(), context)
        if asked != self._known:
            count = self._driver.null_driver_allocations(None, 0, context)
            pairs = (c_uint64 * (2 * count))()
            self._driver.null_driver_allocations(pairs, count, context)
            starts, sizes = pairs[::2], pairs[1::2]
            self._allocated = [
                Buffer(start - self._window, start - self._window + size, f"memory at {start:#x}")
                for start, size in zip(starts, sizes, strict=True)
            ]
            self._known = asked
        return self._allocated

    def answer(self, request: Any) -> int:
        """Simulate one launch; return the driver's error code for it."""
        from pyptx_sim import errors

        try:
            self.run(request.contents)
        except errors.MemoryFault as fault:
            said(str(fault))
            return MISALIGNED_ADDRESS if fault.message.startswith("misaligned") else ILLEGAL_ADDRESS
        except (errors.KernelTrap, errors.BarrierFault) as fault:
            said(str(fault))
            return LAUNCH_FAILED
        except (errors.Deadlock, errors.StepLimitExceeded) as fault:
            said(str(fault))
            return LAUNCH_TIMEOUT
        except Exception:  # noqa: BLE001 - any error must reach the driver's caller as an error code
            said(traceback.format_exc())
            return UNKNOWN
        return 0


# --- code -------------------------------------------------------------------------------------------


@cache
def complaints(text: str) -> str:
    """Return the errors of the driver's compiler for PTX; empty if it is valid."""
    from pyptx_ir.errors import PyptxError
    from pyptx_ir.isa.modules import check_text

    try:
        found = [f"line {each.line}; error   : {each.message}" for each in check_text(text) if each.severity == "error"]
    except PyptxError as error:
        found = [f"line 1; fatal   : {error}"]
    return "\n".join(f"ptxas application ptx input, {each}" for each in found)


def load(image: int, size: int, log: Any, room: int) -> int:
    """Check an image as the driver does when it loads one; return the error code, and write the compiler's log."""
    data = ctypes.string_at(image, size)
    if data.startswith(b"\x7fELF"):
        return 0
    version = re.search(rb"^\s*\.version\s+(\d+)\.(\d+)", data, re.MULTILINE)
    if version is not None and (int(version[1]), int(version[2])) > NEWEST_PTX:
        return UNSUPPORTED_VERSION
    try:
        complaint = complaints(data.rstrip(b"\0").decode())
    except Exception:  # noqa: BLE001 - as above
        said(traceback.format_exc())
        return UNKNOWN
    text = complaint.encode()[: room - 1]
    ctypes.memmove(log, text + b"\0", len(text) + 1)
    return INVALID_PTX if complaint else 0


# --- tensor maps ------------------------------------------------------------------------------------


def encoded(address: int, told: dict[str, Any]) -> Any:
    """Return a tensor map in the simulator's encoding, from the arguments of the driver call."""
    from pyptx_arch_hopper.sim.tma import maps as tensor_maps
    from pyptx_sim.types import dtype_of

    element = ELEMENTS[told["type"]]
    itemsize = dtype_of(element.partition(".")[0]).itemsize

    def padded(values: list[int], blank: int, count: int = 5) -> tuple[int, ...]:
        return (*values, *[blank] * (count - len(values)))

    return tensor_maps.Record(
        rank=len(told["shape"]),
        element=tensor_maps.ELEMENTS.index(element),
        swizzle=min(told["swizzle"], 3),
        atom=max(told["swizzle"] - 3, 0),
        interleave=told["interleave"],
        fill=told["fill"],
        columns="box" not in told,
        address=address,
        extents=padded(told["shape"], 1),
        strides=padded([itemsize, *told["strides"]], 0),
        box=padded(told.get("box", []), 1),
        steps=padded(told["element_strides"], 1),
        lower=padded(told.get("lower", []), 0, 3),
        upper=padded(told.get("upper", []), 0, 3),
        channels=told.get("channels", 0),
        pixels=told.get("pixels", 0),
    )


def put_map(place: int, address: int, mode: bytes, arguments: bytes | None) -> int:
    """Write a tensor map in the simulator's encoding, or replace the tensor address in an existing one."""
    from pyptx_arch_hopper.sim.tma import map_fields
    from pyptx_arch_hopper.sim.tma import maps as tensor_maps

    try:
        if arguments is None:
            record = tensor_maps.unpack(ctypes.string_at(place, map_fields.SIZE))
            if record is None:
                return INVALID_VALUE
            record = replace(record, address=address)
        else:
            record = encoded(address, json.loads(b"{%b}" % arguments))
            fault = record.fault()
            if fault is not None:
                said(f"{mode.decode()}: {': '.join(fault)}")
                return NOT_SUPPORTED if "not simulated" in fault[1] else INVALID_VALUE
        ctypes.memmove(place, record.pack(), map_fields.SIZE)
    except Exception:  # noqa: BLE001 - as above
        said(traceback.format_exc())
        return UNKNOWN
    return 0


# --- installation -----------------------------------------------------------------------------------


def install(path: str) -> None:
    """Make the simulator run launches of the null driver at `path`; call this before memory is allocated."""
    from pyptx_sim.program.windows import GLOBAL_WINDOW

    driver = ctypes.CDLL(path)
    driver.null_driver_map.argtypes = [c_uint64]
    driver.null_driver_allocations.argtypes = [c_void_p, c_size_t, c_void_p]
    driver.null_driver_allocations.restype = c_size_t
    driver.null_driver_allocations_version.restype = c_ulong
    if not driver.null_driver_map(GLOBAL_WINDOW):
        raise RuntimeError(f"the host driver's memory cannot be mapped at {GLOBAL_WINDOW:#x}")
    simulator: list[Simulator] = []

    def launch(request: Any) -> int:
        if not simulator:  # the first launch creates the simulator, which imports NumPy
            simulator.append(Simulator(driver))
        return simulator[0].answer(request)

    _callbacks[:] = [LAUNCH(launch), LOAD(load), MAP(put_map)]
    driver.null_driver_on_launch(_callbacks[0])
    driver.null_driver_on_load(_callbacks[1])
    driver.null_driver_on_map(_callbacks[2])


_callbacks: list[Any] = []  # ctypes functions that the driver calls; this list keeps them alive
