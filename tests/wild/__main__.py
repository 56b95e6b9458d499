"""Check syntax and rebuilding properties of the PTX in published wheels, and `pyptx check` against ptxas.

Every module is parsed, emitted and parsed again (`laws`), and checked: a module that ptxas accepts must have no error
(`checks`). A few dozen modules of each wheel are rebuilt from Python that calls only public names (`rebuilding`), and
transpiled (`transpiling`).

    python -m tests.wild                       the wheels of `WHEELS`, at most 100 modules of each
    python -m tests.wild --all                 every module of them
    python -m tests.wild xgboost==3.2.0 …      these wheels
    … --only laws --only checks                these parts, of laws, checks, rebuilding and transpiling
    … --jobs 1                                 number of processes that rebuild and transpile (default: 2)
    … --cache FOLDER                           folder of downloaded wheels (default: .nox/wild)
    … --keep FOLDER                            write every module with a fault to this folder

Needs pip, ptxas, the packages lz4 and zstandard, and a network for wheels that are not cached: they are 2 GB. The
transpiling part takes an hour, rebuilding takes longer. Exits with 1 if a property is violated, ptxas accepts a module
that the check rejects, a wheel cannot be downloaded, or a wheel has no PTX.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from .checks import Checked, check
from .laws import Outcome, judge
from .rebuilding import rebuild
from .transpiling import hold, machine_code
from .wheels import FetchError, Sample, fetch, take
from .work import PrintTask, chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

WHEELS = (
    "bitsandbytes==0.50.2",
    "ctranslate2==4.8.5",
    "cumm-cu120==0.6.3",
    "custatevec-cu12==1.15.0",
    "libraft-cu12==26.10.0",
    "numba-cuda==0.30.4",
    "nvidia-cudss-cu12==1.0.0.35",
    "nvidia-cufft-cu12==11.4.1.4",
    "nvidia-curand-cu12==10.3.10.19",
    "nvidia-cusparselt-cu12==0.8.1",
    "nvidia-nccl-cu13==2.32.3",
    "nvidia-npp-cu12==12.4.1.87",
    "nvidia-nvimgcodec-cu12==0.9.0.20",
    "nvidia-nvjpeg-cu12==12.4.0.76",
    "nvidia-nvshmem-cu13==3.8.0",
    "spconv-cu120==2.3.6",
    "torchaudio==2.11.0",
    "torchvision==0.29.1",
    "warp-lang==1.19.0",
    "xformers==0.0.35",
    "xgboost==3.2.0",
)
PARTS = ("laws", "checks", "rebuilding", "transpiling")
LIMIT = 100
ROOT = Path(__file__).resolve().parents[2]


def say(line: str) -> None:
    """Print a line and flush: a run takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def examine(requirement: str, options: argparse.Namespace) -> int:
    """Run the selected checks on one wheel, print the results, and return the number of faults."""
    try:
        wheel = fetch(requirement, options.cache)
    except FetchError as error:
        say(str(error))
        return 1
    sample = take(wheel, None if options.all else options.limit)
    say(described(wheel, sample))
    if not sample.modules:
        say("  a wheel without PTX proves nothing: name another version")
        return 1
    parts = options.only or PARTS
    faults = report(sample, parts, options.keep) if {"laws", "checks"} & set(parts) else 0
    if {"rebuilding", "transpiling"} & set(parts):
        some = chosen(sample.modules)
        if not some:
            say("  nothing to rebuild or to transpile: no module is small enough")
            return faults + 1
        work = [PrintTask.of(one) for one in some]
        faults += rebuildings(work, options.jobs) if "rebuilding" in parts else 0
        faults += transpilings(work, options.jobs) if "transpiling" in parts else 0
    return faults


def described(wheel: Path, sample: Sample) -> str:
    """Return a summary line for a wheel, which says if only a sample of its modules was checked."""
    size = wheel.stat().st_size / 1e6
    line = f"{wheel.name} ({size:.0f} MB): {sample.distinct} distinct modules in {sample.files} files"
    if len(sample.modules) < sample.distinct:
        line += f"; SAMPLE of {len(sample.modules)}, those of the smallest hashes (--all takes every one)"
    return line


def report(sample: Sample, parts: Sequence[str], keep: Path | None) -> int:
    """Check the properties of every module of a sample; print figures and return the number of faults."""
    judged, checked, faults = list[Outcome](), list[Checked](), 0
    for module in sample.modules:
        name = f"{module.file}#{module.digest[:12]}"
        if "laws" in parts:
            judged.append(judge(module.text, name))
        if "checks" in parts:
            checked.append(check(module.text, name))
        found = [outcomes[-1].fault for outcomes in (judged, checked) if outcomes and outcomes[-1].fault]
        for fault in found:
            say(f"  {module.file} {module.digest[:12]}: {fault}")
        faults += len(found)
        if found and keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{module.digest[:12]}.ptx").write_bytes(module.text)
    size = sum(len(module.text) for module in sample.modules) / 1e6
    say(f"  {len(sample.modules)} modules, {size:.1f} MB, {faults} faults")
    for line in (laws(judged, size), checks(checked, size)):
        if line:
            say(f"  {line}")
    return faults


def rebuildings(work: Sequence[PrintTask], jobs: int) -> int:
    """Rebuild modules from Python that calls only public names; print figures and return the number of faults."""
    with ProcessPoolExecutor(jobs) as pool:
        rebuilt = list(pool.map(rebuild, work))
    for one, outcome in zip(work, rebuilt, strict=True):
        if outcome.fault:
            say(f"  {one.name}: {outcome.fault}")
    statements = sum(one.statements for one in rebuilt)
    share = 100 * sum(one.deviating for one in rebuilt) / (statements or 1)
    rate = sum(len(one.text) for one in work) / (sum(one.seconds for one in rebuilt) or 1e-9) / 1e6
    exact = sum(not one.fault for one in rebuilt)
    say(f"  {exact} of {len(work)} modules rebuilt, {rate:.2f} MB/s: {share:.1f} % of {statements} statements deviate")
    return len(work) - exact


def transpilings(work: Sequence[PrintTask], jobs: int) -> int:
    """Transpile modules with and without sugar rules; print figures and return the number of faults."""
    both = [(one, sugar) for one in work for sugar in (False, True)]
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = list(pool.map(hold, *zip(*both, strict=True)))
    faults = [f"{one.name}: {one.fault}" for one in outcomes if one.fault]
    sampled = next((one for one in work if not one.unchecked), None)
    wrong = machine_code(sampled.text) if sampled else ""
    faults += [f"{sampled.name}: {wrong}"] if sampled and wrong else []
    for fault in faults:
        say(f"  {fault}")
    size, seconds = 2 * sum(len(one.text) for one in work) / 1e6, sum(one.seconds for one in outcomes)
    rejected = sum(one.rejected for one in outcomes)
    plain, sugared = (sum(one.sugar == sugar and not one.fault for one in outcomes) for sugar in (False, True))
    rate = f"{rejected} rewrites rejected; {size / (seconds or 1e-9):.2f} MB/s, run and compared"
    say(f"  {len(work)} modules transpiled: {plain} exact without rules, {sugared} with rules; {rate}")
    return len(faults)


def laws(judged: list[Outcome], size: float) -> str:
    """Return a line with the speed of parsing and emitting; "" if no module was measured."""
    parsing = sum(one.parsing for one in judged) or 1e-9
    emitting = sum(one.emitting for one in judged) or 1e-9
    return f"parsed at {size / parsing:.1f} MB/s, emitted at {size / emitting:.0f} MB/s" if judged else ""


def checks(checked: list[Checked], size: float) -> str:
    """Return a line with the findings of `pyptx check`; "" if there were none."""
    wrong = [one for one in checked if one.errors]
    refused = sum(one.refused for one in wrong)
    seconds = sum(one.seconds for one in checked)
    warnings = sum(one.warnings for one in checked)
    line = f"checked at {size / (seconds or 1e-9):.1f} MB/s: {len(wrong)} modules with errors"
    return f"{line}, {refused} of them rejected by ptxas too; {warnings} warnings" if checked else ""


def main(argv: list[str] | None = None) -> int:
    """Check the wheels of the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", nargs="*", default=WHEELS, metavar="REQUIREMENT")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("--cache", type=Path, default=ROOT / ".nox" / "wild")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args(argv)
    return 1 if sum([examine(requirement, options) for requirement in options.wheels]) else 0


if __name__ == "__main__":
    sys.exit(main())
