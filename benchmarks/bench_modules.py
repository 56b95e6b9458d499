"""How long whole modules take to write, and how much memory: both must grow with the number of instructions.

    python benchmarks/bench_modules.py [--repeat N]

Each size is a process of its own: one function, whose instructions are spelt as compilers spell them. Prints the best
CPU time of N runs, for writing and emitting together, and the memory that a run adds to what `import pyptx` takes.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

SIZES = (10_000, 50_000, 100_000)


def written(count: int) -> str:
    """Return the text of a module with so many instructions."""
    from pyptx import module, ptx, reg
    from pyptx.types import b32, b64, f32, pred, u64

    m = module(version=(8, 5), target="sm_90a")
    inst = ptx.inst

    @m.entry("k", [m.param("p", u64)], visible=True)
    def k() -> None:
        p, r, f, d = (
            reg.bank(*each) for each in (("%p", pred, 9), ("%r", b32, 999), ("%f", f32, 999), ("%rd", b64, 999))
        )
        for i in range(count // 5):
            inst.fma.rn.f32(f[i % 999], f[i % 997], f[i % 991], "0f3F800000")
            inst.mul.wide.u32(d[i % 999], r[i % 997], 4)
            inst.ld.global_.f32(f[i % 991], ptx.addr(d[i % 999], i))
            inst.setp.lt.s32(p[i % 9], r[i % 991], r[i % 999])
            inst.add.s32(r[i % 997], r[i % 991], i, pred=p[i % 9])

    return m.ptx()


def measured(count: int) -> str:
    """Write a module once; return its bytes, seconds, and MB."""
    written(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    size = len(written(count))
    seconds = time.process_time() - start
    return f"{size} {seconds} {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024}"


def main() -> None:
    """Measure each size in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(measured(options.one))
        return
    for count in SIZES:
        command = [sys.executable, __file__, "--one", str(count)]
        runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(options.repeat)]
        size, seconds, memory = (min(float(run.stdout.split()[at]) for run in runs) for at in range(3))
        print(f"{count:>8,} instructions  {seconds:.3f} s  {size / seconds / 1e6:.2f} MB/s  {memory:.0f} MB")


if __name__ == "__main__":
    main()
