"""Time of a warm launch by Triton on the virtual GPU, compared with `pyptx_sim.run` of the same PTX and arrays.

    python benchmarks/virtual_launches.py [--repeat N]

Needs torch and Triton: `nox -s virtual -- overhead` has them. Launches kernels of `tests/virtual/programs` again,
alternately both ways, with all checks, and prints the median milliseconds. Exits with 1 if a launch takes longer than
`pyptx_sim.run` by more than 10 % and more than 2 ms, or a launch of `vector_add` (one block) more than twice as long.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from timing import times

sys.path.append(str(Path(__file__).resolve().parents[1]))

import pyptx_sim
import pyptx_virtual

if TYPE_CHECKING:
    from collections.abc import Callable

    from triton.runtime.jit import JITFunction

    from pyptx_sim import Launch

    Call = Callable[[], object]

SIZES = {"vector_add": (98,), "softmax": (20, 781), "layer_norm": (16, 64), "matmul": (64, 64, 64), "stencil": (1000,)}
MILLISECONDS, SHARE, TINY = 2.0, 0.1, 2.0  # limits of the overhead; of the ratio for `vector_add`


def recorded(device: pyptx_virtual.VirtualDevice, name: str) -> dict[str, tuple[Call, Call]]:
    """Run a program; return, for the first launch of each kernel, a launch by Triton and a call of `pyptx_sim.run`."""
    from triton.runtime.jit import JITFunction

    program, context = import_module(f"tests.virtual.programs.{name}"), device.context
    plain_run, plain_launch = JITFunction.run, context.launch
    calls: dict[str, Call] = {}
    launches: dict[str, Call] = {}

    def run(self: JITFunction, *args: object, **keywords: object) -> object:
        calls.setdefault(self.__name__, partial(plain_run, self, *args, **keywords))
        return plain_run(self, *args, **keywords)

    def launch(ptx: str, found: Launch, **keywords: object) -> object:
        launches.setdefault(found.entry or name, partial(pyptx_sim.run, ptx, found))
        return plain_launch(ptx, found, **keywords)

    JITFunction.run, context.launch = run, launch
    try:
        program.check(*SIZES[name])
    finally:
        JITFunction.run = plain_run
        del context.launch
    return {kernel: (calls[kernel], launched) for kernel, launched in launches.items()}


def main() -> int:
    """Measure the programs; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=15)
    repeat = parser.parse_args().repeat
    device = pyptx_virtual.activate("sm_90a", doors=["torch", "triton"])
    print(f"{'kernel':28} {'launch ms':>10} {'run ms':>10} {'ratio':>6}")
    kept = True
    for name in SIZES:
        for kernel, both in recorded(device, name).items():
            found = times(*both, repeat=repeat + 1, clock=time.perf_counter)
            launched, plain = (1e3 * median(each[1:]) for each in found)
            print(f"{name + ' ' + kernel:28.28} {launched:10.2f} {plain:10.2f} {launched / plain:6.2f}")
            kept = kept and launched - plain <= max(MILLISECONDS, SHARE * plain)
            kept = kept and (name != "vector_add" or launched <= TINY * plain)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
