"""Check and build the corpus.

python corpus/build.py all checks: --check and, if ptxas is found, --assemble python corpus/build.py --check compare
files with the manifest, compile again, and compare bytes python corpus/build.py --assemble compare the result of ptxas
for each module with the manifest python corpus/build.py --write compile with every compiler that is found; write
modules and manifest … --environments FOLDER create, or find, the environments of requirements/ in this folder … --tool
nvcc-13.5=PATH a compiler that is neither there nor on PATH (may be repeated) … --only nvcc-13.0 one producer (may be
repeated) … --missing with --write: only missing modules
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import assemble
import manifest
from dialects import DIALECTS
from handmade import HANDWRITTEN
from manifest import CORPUS, Module
from plan import COMPILERS, Build
from producers import PRODUCERS, Tool, command, environment_of, find, piped, shown, stage

if TYPE_CHECKING:
    from collections.abc import Iterable

BUILDS = (*COMPILERS, *DIALECTS)
VERSIONS = {producer.name: producer.version for producer in PRODUCERS}
VARIES = {producer.name: producer.varies for producer in PRODUCERS if producer.varies}
JOBS = 2


@dataclass(frozen=True, slots=True)
class Compiled:
    """Bytes that a compiler wrote for `build`, or its error message."""

    build: Build
    data: bytes = b""
    complaint: str = ""


def compile_one(build: Build, tool: Tool) -> Compiled:
    """Run `build`'s command in a staging folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder), CORPUS, tool)
        output = Path(folder) / "module.ptx"
        line = command(build, tool.program, output)
        done = subprocess.run(
            line,
            cwd=folder,
            env=os.environ | environment_of(tool),
            input=piped(build, Path(folder)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not output.exists():
            return Compiled(build, complaint=(done.stderr or done.stdout).strip())
        return Compiled(build, output.read_bytes())


def compile_all(tools: dict[str, Tool], *, missing: bool = False) -> list[Compiled]:
    """Compile every build whose producer is in `tools`; with `missing`, only builds without a file."""
    wanted = [build for build in BUILDS if build.producer in tools]
    if missing:
        wanted = [build for build in wanted if not (CORPUS / build.path).exists()]
    with ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(lambda build: compile_one(build, tools[build.producer]), wanted))


def objections(compiled: Iterable[Compiled]) -> list[str]:
    """Return the reasons to reject these modules: a compiler's error, or a path of this machine in the text."""
    found: list[str] = []
    for item in compiled:
        if item.complaint:
            found.append(f"{item.build.path}: {_first_error(item.complaint)}")
        found += [f"{item.build.path}: {leak}" for leak in manifest.machine_paths(item.data)]
    return found


def _first_error(complaint: str) -> str:
    lines = [line for line in complaint.splitlines() if re.search(r"error|fatal", line, re.IGNORECASE)]
    return (lines or [complaint])[0]


def build_all(tools: dict[str, Tool], ptxas: str, *, missing: bool) -> int:
    """Compile, write the modules and, if none is rejected, the manifest; return the exit status."""
    refused: list[str] = []
    for item in compile_all(tools, missing=missing):
        against = objections([item])
        refused += against
        if not against:
            path = CORPUS / item.build.path
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(item.data)
    if refused:
        print("\n".join(refused))
        return 1
    write_manifest(ptxas)
    return 0


def write_manifest(ptxas: str) -> None:
    """Generate `manifest.toml` from the plan, the files and ptxas; keep old results of modules too new for ptxas."""
    known = {module.path: module for module in manifest.read()} if manifest.MANIFEST.exists() else {}
    rows = [_described(path) for path in manifest.files()]
    changed = [row for row in rows if row.path not in known or known[row.path].sha256 != row.sha256]
    near, _ = assemble.within_reach(changed, ptxas)
    verdicts = {verdict.module.path: verdict for verdict in assemble.assemble_all(near, ptxas, JOBS)}
    manifest.write([_judged(row, verdicts, known) for row in rows])


def _described(path: str) -> Module:
    data = (CORPUS / path).read_bytes()
    build = {build.path: build for build in BUILDS}.get(path)
    hand = {hand.path: hand for hand in HANDWRITTEN}.get(path)
    if build is None and hand is None:
        raise SystemExit(f"{path} is in no table of plan.py: add a row or delete the file")
    names = manifest.targets(data)
    return Module(
        path=path,
        producer=build.producer if build else "hand",
        version=VERSIONS[build.producer] if build else "1",
        source=build.source if build else path,
        target=names[0] if names else "",
        ptx="{}.{}".format(*manifest.ptx_version(data)),
        command=shown(build) if build else "",
        bytes=len(data),
        sha256=manifest.digest(data),
        assembles=True,
        shows=hand.shows if hand else "",
        reason=(hand.refused or "") if hand else "",
    )


def _judged(row: Module, verdicts: dict[str, assemble.Verdict], known: dict[str, Module]) -> Module:
    verdict = verdicts.get(row.path)
    if verdict is not None:
        return replace(
            row, assembles=verdict.assembles, reason="" if verdict.assembles else row.reason or verdict.message
        )
    old = known.get(row.path)
    return replace(row, assembles=old.assembles, reason=row.reason or old.reason) if old else row


def check(tools: dict[str, Tool]) -> int:
    """Compare files with the manifest, then compile again and compare bytes; return the exit status."""
    found = manifest.problems()
    rows = {module.path: module for module in manifest.read()}
    planned = {build.path for build in BUILDS} | {hand.path for hand in HANDWRITTEN}
    found += [f"{path}: planned, but not in the manifest" for path in sorted(planned - rows.keys())]
    compiled = compile_all(tools)
    found += objections(compiled)
    others: list[Build] = []
    for item in compiled:
        row = rows.get(item.build.path)
        if row is not None and not item.complaint and manifest.digest(item.data) != row.sha256:
            others.append(item.build)
    found += [f"{build.path}: compiling it again gives other bytes" for build in others if build.producer not in VARIES]
    print("\n".join(found) if found else f"{len(rows)} modules are as the manifest says")
    print(f"{len(compiled)} compiled again", *(f"; no {name}" for name in VERSIONS if name not in tools), sep="")
    for name, count in sorted(Counter(build.producer for build in others if build.producer in VARIES).items()):
        print(f"{count} of {name} have other bytes: {VARIES[name]}")
    return 1 if found else 0


def check_assembly(ptxas: str) -> int:
    """Compare the result of `ptxas` for each module with the manifest; return the exit status."""
    modules = manifest.read()
    _, far = assemble.within_reach(modules, ptxas)
    found = assemble.disagreements(modules, ptxas, JOBS)
    print("\n".join(found) if found else f"ptxas agrees with the manifest on {len(modules) - len(far)} modules")
    if far:
        print(f"{len(far)} modules are too new for this ptxas and were not tried")
    return 1 if found else 0


def summary() -> str:
    """Return the counts and sizes per producer and per target as text."""
    rows = manifest.read()
    lines = [f"{len(rows)} modules, {sum(row.bytes for row in rows) / 1e6:.2f} MB"]
    for name, count in sorted(Counter(row.producer for row in rows).items()):
        size = sum(row.bytes for row in rows if row.producer == name)
        lines.append(f"  {name:10} {count:4}  {size / 1e6:.2f} MB")
    counted = sorted(Counter(row.target for row in rows).items())
    lines.append("  " + ", ".join(f"{name or 'no target'} {count}" for name, count in counted))
    return "\n".join(lines)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--assemble", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--environments", type=Path, metavar="FOLDER")
    parser.add_argument("--tool", action="append", default=[], metavar="PRODUCER=PATH")
    parser.add_argument("--only", action="append", default=[], metavar="PRODUCER")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="default: the one on PATH")
    return parser.parse_args(argv)


def _tools(options: argparse.Namespace) -> dict[str, Tool]:
    given = dict(item.split("=", 1) for item in options.tool)
    asked = [producer for producer in PRODUCERS if not options.only or producer.name in options.only]
    found = {producer.name: find(producer, given, options.environments) for producer in asked}
    return {name: tool for name, tool in found.items() if tool is not None}


def main(argv: list[str] | None = None) -> int:
    """Carry out the command line; return the exit status."""
    options = _arguments(argv)
    everything = not (options.check or options.assemble or options.write)
    if options.ptxas is None and not options.check:
        print("no ptxas on PATH: name one with --ptxas, or ask for --check alone")
        return 1
    started = time.perf_counter()
    status = 0
    if options.write:
        status |= build_all(_tools(options), options.ptxas, missing=options.missing)
    if options.check or everything:
        status |= check(_tools(options))
    if options.assemble or everything:
        status |= check_assembly(options.ptxas)
    print(summary() if manifest.MANIFEST.exists() else "no manifest")
    print(f"{time.perf_counter() - started:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
