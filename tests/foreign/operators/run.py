"""Run the operators of a library on the simulator, at each of their sizes: `run LIBRARY PACKAGES FOLDER`.

`PACKAGES` is the folder of the library, of torch and of Triton. Writes the outcome of each operator to `FOLDER` as
JSON, unless there is an outcome for the same simulator and tables.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.foreign.running import ACCUSATIONS, SCHEDULES, Fault, Outcome, simulator, together

if TYPE_CHECKING:
    from torch import Tensor

    from .driver import SimulatorDriver
    from .rows import Operator, Results


def judged(driver: SimulatorDriver, operator: Operator, size: tuple[int, ...]) -> Outcome:
    """Run an operator at one size under every schedule; return its outcome."""
    import torch

    torch.manual_seed(18)
    inputs, started = list(operator.inputs(*size).values()), time.perf_counter()
    wanted = tensors(operator.reference(*map(exact, inputs)))
    faults = [_faults(driver, operator, inputs, wanted, schedule) for schedule in SCHEDULES]
    return Outcome(together(faults), time.perf_counter() - started)


def _faults(
    driver: SimulatorDriver, operator: Operator, inputs: list[Tensor], wanted: list[Tensor], schedule: dict[str, Any]
) -> list[Fault]:
    driver.schedule, driver.findings = schedule, []
    try:
        have = tensors(operator.call(*(each.clone() for each in inputs)))
    except Exception as error:  # noqa: BLE001 - any exception of an operator is reported
        return [Fault(type(error).__name__, str(error)[:2000])]
    found = [Fault(each.rule, each.message) for each in driver.findings if each.severity in ACCUSATIONS]
    away = max(distance(*each) for each in zip(have, wanted, strict=True))
    return found if away <= operator.tolerance else [*found, Fault("wrong", f"a result has {away:.2g} relative error")]


def tensors(results: Results) -> list[Tensor]:
    """Return an operator's results as a list of tensors."""
    return list(results) if isinstance(results, tuple) else [results]


def exact(tensor: Tensor) -> Tensor:
    """Return floating-point tensors in double precision, others unchanged."""
    return tensor.double() if tensor.is_floating_point() else tensor.clone()


def distance(have: Tensor, want: Tensor) -> float:
    """Return the largest error relative to the largest expected magnitude; infinity if an element is not finite."""
    away = float((have.double() - want).abs().max() / want.abs().max().clamp_min(1e-30))
    return math.inf if math.isnan(away) else away


def _key() -> str:
    texts = (path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return hashlib.sha256(b"\0".join([simulator().encode(), *texts])).hexdigest()


def main(library: str, packages: str, folder: str) -> None:
    """Run the operators of a library whose outcomes are missing or outdated."""
    sys.path.append(packages)
    from tests.foreign.operators.driver import SimulatorDriver

    os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # Triton's default; an unset variable causes a warning
    driver, key = SimulatorDriver(), _key()
    for operator in import_module(f"tests.foreign.operators.{library}").OPERATORS:
        path = Path(folder) / f"{operator.name}.json"
        if path.exists() and json.loads(path.read_text(encoding="utf-8"))["key"] == key:
            continue
        sizes = {"x".join(map(str, size)): asdict(judged(driver, operator, size)) for size in operator.sizes}
        path.write_text(json.dumps({"key": key, "sizes": sizes}, indent=1), encoding="utf-8")
        sys.stdout.write(f"ran {library} {operator.name} {sum(each['seconds'] for each in sizes.values()):.1f} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
