"""Simulator runs of another compiler's kernel: whether its outputs are right, and whether it has findings."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

import pyptx_arch_blackwell
import pyptx_arch_hopper
import pyptx_ir
import pyptx_sim
from pyptx_arch_hopper import TensorMap
from pyptx_sim import Launch, Sampler, Surface, Texture, WithDescriptor, run
from pyptx_sim.extension import rules
from pyptx_sim.readers import from_cute, from_triton

from .languages import OLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyptx_sim.operation import Array

# Schedules: each seed with asynchronous operations that complete as early and as late as possible.
SCHEDULES = tuple({"seed": seed, "delay_async": late} for seed in range(4) for late in (False, True))
# Schedules for kernels from older compiler releases, a subset of `SCHEDULES`.
FEWER = tuple({"seed": seed, "delay_async": late} for seed, late in ((0, False), (1, True), (2, False)))
ACCUSATIONS = ("error", "warning")


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault of a kernel: a rule, `wrong`, `refused` or an exception's name, with its first message.

    `schedules`: number of schedules in which it occurred.
    """

    kind: str
    message: str
    schedules: int = 1

    @property
    def of_a_rule(self) -> bool:
        """Whether the fault is a finding of a rule; the kernel's outputs may be right nevertheless."""
        return self.kind in rules()


@dataclass(frozen=True, slots=True)
class Read:
    """Triton's compiled kernel object, rebuilt from its stored data for `from_triton`."""

    asm: dict[str, str]
    metadata: SimpleNamespace
    src: SimpleNamespace


@dataclass(frozen=True, slots=True)
class Kept:
    """The CuTe DSL's compiled function, rebuilt from its stored data for `from_cute`."""

    artifacts: SimpleNamespace
    ir_module: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one kernel under all schedules."""

    faults: tuple[Fault, ...] = ()
    seconds: float = 0.0

    @property
    def clean(self) -> bool:
        """Whether all outputs are right and no rule has a finding."""
        return not self.faults

    @property
    def refused(self) -> bool:
        """Whether the compiler rejected the kernel, so that no launch ran."""
        return any(fault.kind == "refused" for fault in self.faults)

    @property
    def right(self) -> bool:
        """Whether the kernel ran and all outputs are right."""
        return all(fault.of_a_rule for fault in self.faults)


def judge(folder: Path) -> Outcome:
    """Run a compiled kernel under every schedule; return its earlier outcome if it and the simulator are unchanged."""
    kept, key = folder / "outcome.json", _key(folder)
    if kept.exists():
        known = json.loads(kept.read_text(encoding="utf-8"))
        if known["key"] == key:
            return Outcome(tuple(Fault(**fault) for fault in known["faults"]), known["seconds"])
    outcome = _judged(folder)
    words = {"key": key, "seconds": outcome.seconds, "faults": [asdict(fault) for fault in outcome.faults]}
    kept.write_text(json.dumps(words, indent=1), encoding="utf-8")
    return outcome


def _key(folder: Path) -> str:
    files = (path for path in sorted(folder.iterdir()) if path.name != "outcome.json")
    return hashlib.sha256(b"\0".join([simulator().encode(), *(path.read_bytes() for path in files)])).hexdigest()


@cache
def simulator() -> str:
    """Return a hash of our packages and this file: with the kernel, they determine an outcome."""
    packages = (pyptx_ir, pyptx_sim, pyptx_arch_hopper, pyptx_arch_blackwell)
    sources = (path for each in packages for path in Path(str(each.__file__)).parent.rglob("*.py"))
    texts = (path.read_bytes() for path in sorted({Path(__file__), *sources}))
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def _judged(folder: Path) -> Outcome:
    refused = folder / "refused.txt"
    if refused.exists():
        return Outcome((Fault("refused", refused.read_text(encoding="utf-8")),))
    started = time.perf_counter()
    launches = json.loads((folder / "launch.json").read_text(encoding="utf-8"))
    with np.load(folder / "arrays.npz") as stored:
        arrays = dict(stored)
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.ptx"))]
    schedules = FEWER if folder.parents[1].name in OLDER else SCHEDULES
    met = [_faults(texts, launches, arrays, schedule) for schedule in schedules]
    return Outcome(together(met), time.perf_counter() - started)


def together(met: Iterable[list[Fault]]) -> tuple[Fault, ...]:
    """Return the first fault of each rule or exception, with the number of schedules in which it occurred."""
    faults = dict[str, Fault]()
    for of_schedule in met:
        for kind, fault in {fault.kind: fault for fault in reversed(of_schedule)}.items():
            known = faults.get(kind)
            faults[kind] = replace(known, schedules=known.schedules + 1) if known else fault
    return tuple(faults.values())


def _faults(
    texts: list[str], launches: list[dict[str, Any]], arrays: dict[str, Array], schedule: dict[str, Any]
) -> list[Fault]:
    placed: dict[str, Array] = {}
    try:
        result = run(texts, [_launch(each, texts, arrays, placed) for each in launches], **schedule)
    except Exception as error:  # noqa: BLE001 - any exception of a kernel is reported
        return [Fault(type(error).__name__, str(error))]
    found = [Fault(each.rule, each.message) for each in result.findings if each.severity in ACCUSATIONS]
    for row in (row for launch in launches for row in _rows(launch["arguments"]) if row.get("wanted")):
        away = distance(placed[row["array"]], arrays[f"{row['array']}.want"], ordered=row["ordered"])
        if away > row["tolerance"]:
            found.append(Fault("wrong", f"an array of {row['element']} has {away:.2g} relative error"))
    return found


def _rows(arguments: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield kernel arguments, and the members of structures among them."""
    for row in arguments:
        yield row
        yield from _rows(row.get("members", []))


def _launch(row: dict[str, Any], texts: list[str], arrays: dict[str, Array], placed: dict[str, Array]) -> Launch:
    """Return the `Launch` of a row of launch.json; Triton's or the CuTe DSL's launch data replaces its fields."""
    fields = dict(row)
    arguments = [_argument(each, arrays, placed) for each in fields.pop("arguments")]
    if "cute" in fields:
        said = fields["cute"]
        kept = Kept(SimpleNamespace(PTX=texts[0], MLIR=said["MLIR"]), said["ir_module"])
        return from_cute(kept, row["grid"], arguments)
    if "triton" not in fields:
        return Launch(args=arguments, **fields)
    said = row["triton"]
    metadata, source = SimpleNamespace(**said["metadata"]), SimpleNamespace(signature=said["signature"])
    text = next(text for text in texts if f".entry {metadata.name}(" in text)
    return from_triton(Read({"ptx": text}, metadata, source), row["grid"], arguments)


def _argument(row: dict[str, Any], arrays: dict[str, Array], placed: dict[str, Array]) -> Any:
    """Return the argument for a parameter; for a structure, the tuple of its members."""
    if "number" in row:
        number = np.dtype(row["kind"]).type(row["number"])
        return number.item()
    if "bytes" in row:
        return bytes.fromhex(row["bytes"])
    if "members" in row:
        return tuple(_argument(each, arrays, placed) for each in row["members"])
    name = row["array"]
    if name not in placed:
        placed[name] = np.ascontiguousarray(arrays[f"{name}.start"]).astype(_dtype(row["element"]))
    array = placed[name]
    if "map" in row:
        return WithDescriptor(array, map_of(row["map"], array))
    if "texture" in row:
        return Texture(array, sampler=Sampler(**row["sampler"]), **row["texture"])
    if "surface" in row:
        return Surface(array, **row["surface"])
    return array


def _dtype(element: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, element, element))


def map_of(row: dict[str, Any], array: Array) -> TensorMap:
    """Return the tensor map of an array, by the parameter's JSON object (`row`) in `launch.json`."""
    if row["tiles"]:
        (rows, columns), (height, width) = array.shape, row["tiles"]
        array = array.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)
    box, steps = tuple(row["box"]), (1,) * array.ndim
    return TensorMap(row["dtype"], array.shape, array.strides, box, steps, row["swizzle"], fill=row["fill"])


def distance(got: Array, want: Array, *, ordered: bool = True) -> float:
    """Return the largest difference from the reference, relative to the reference's largest magnitude (at least 1)."""
    have, wanted = got.astype(np.float64).reshape(-1), want.astype(np.float64).reshape(-1)
    if not ordered:
        have, wanted = np.sort(have), np.sort(wanted)
    if not np.isfinite(have).all():
        return math.inf
    return float(np.abs(have - wanted).max() / max(1.0, np.abs(wanted).max()))
