"""The findings of every simulation in a test run, to compare two commits of the simulator.

    pytest -p tools.findings --findings before.tsv packages/pyptx-sim/tests tests
    python -m tools.findings before.tsv after.tsv [--by-test]

The first command is a pytest plugin. It records, for each test, its simulations in order, and the findings (rule,
severity, both PTX lines) or error: litmus tests, injected faults, kernels, corpus and random programs, each under the
schedules of its test. With `-n` it needs a fixed distribution of the tests, such as that of `conftest.py`. Another
commit's packages are tested by the same tests if PYTHONPATH names their sources.

The second command prints, for each test that both files have, the simulations that differ, then the number of findings
of each rule that one file lacks. It exits with 1 if there is a difference. A name that ends in `.zst` is compressed.
With `--by-test`, only the set of a test's findings is compared, whichever of the two accesses is executed first: for
commits whose schedules differ.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
import zstandard

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    Runs: TypeAlias = list[Counter[str]]
    """Findings and errors of each simulation of a test, in order."""

_SHOWN = 200  # differing simulations that are printed


class Recorder:
    """Records the simulations of each test; in a process of `pytest -n`, into a file of its own."""

    def __init__(self, file: Path, worker: str) -> None:
        """Record into `file`; `worker` is the name of a process of `pytest -n`, or empty."""
        self._file, self._worker = file, worker
        self._rows: list[str] = []
        self._runs: list[list[str]] = []
        self._statistics: object = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Record simulations of `item` under its name."""
        self._runs = []
        result = yield
        name = item.nodeid.encode("unicode_escape").decode()  # it may contain tabs and line feeds
        for number, entries in enumerate(self._runs):
            self._rows += [f"{name}\t{number}\t{each}" for each in entries or ("clean",)]
        return result

    def completed(self, result: Any) -> None:  # noqa: ANN401 - a Result of any commit
        """Add a simulation; a changed copy of its result, which has its statistics, takes the result's place."""
        if self._runs and result.statistics is self._statistics:
            self._runs.pop()
        self._statistics = result.statistics
        self._runs.append(sorted(map(_row, result.findings)))

    def stopped(self, error: Exception) -> None:
        """Add a simulation that ended by an error."""
        self._runs.append([f"stopped {type(error).__name__}"])

    def pytest_sessionfinish(self) -> None:
        """Write the file, in the main process with the rows of all processes."""
        if self._worker:
            self._part(self._worker).write_text("".join(f"{row}\n" for row in self._rows), encoding="utf-8")
            return
        rows = self._rows
        for part in self._file.parent.glob(f"{self._file.name}.gw*"):
            rows += part.read_text(encoding="utf-8").splitlines()
            part.unlink()
        text = "".join(f"{row}\n" for row in rows).encode()
        self._file.write_bytes(zstandard.compress(text) if self._file.suffix == ".zst" else text)

    def _part(self, worker: str) -> Path:
        return self._file.with_name(f"{self._file.name}.{worker}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--findings`."""
    parser.addoption("--findings", type=Path, metavar="FILE", help="record the findings of all simulations in FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Record each result and each error of the simulator."""
    file: Path | None = config.getoption("--findings")
    if file is None:
        return
    from pyptx_sim import Result
    from pyptx_sim.errors import SimulationError

    worker: Any = getattr(config, "workerinput", {})
    recorder = Recorder(file.resolve(), worker.get("workerid", ""))
    config.pluginmanager.register(recorder, "findings")
    _after(Result, recorder.completed)
    _after(SimulationError, recorder.stopped)


def _after(made: type[Any], then: Any) -> None:  # noqa: ANN401 - a function of an instance of `made`
    """Call `then` with each new instance of a class."""
    plain: Any = made.__init__

    def start(self: object, *arguments: object, **keywords: object) -> None:
        plain(self, *arguments, **keywords)
        then(self)

    made.__init__ = start


def _row(finding: Any) -> str:  # noqa: ANN401 - a Finding of any commit
    return f"{finding.severity} {finding.rule} {finding.line} {finding.other_line or ''}".rstrip()


# --- comparison ---------------------------------------------------------------------------------


def read(file: Path) -> Mapping[str, Runs]:
    """Return the simulations of each test in a file."""
    data = file.read_bytes()
    text = (zstandard.decompress(data) if file.suffix == ".zst" else data).decode()
    found: defaultdict[str, Runs] = defaultdict(list)
    for line in text.splitlines():
        test, number, entry = line.split("\t")
        runs = found[test]
        if int(number) == len(runs):
            runs.append(Counter())
        runs[-1][entry] += 1
    return found


def differences(before: Mapping[str, Runs], after: Mapping[str, Runs]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the name of each simulation that differs, and its lines: `-` only before, `+` only after."""
    for test in sorted(before.keys() & after.keys()):
        one, other = before[test], after[test]
        if len(one) != len(other):
            yield test, [f"- {len(one)} simulations", f"+ {len(other)} simulations"]
            continue
        for number, (old, new) in enumerate(zip(one, other, strict=True)):
            if old != new:
                lost, gained = sorted((old - new).elements()), sorted((new - old).elements())
                yield (
                    f"{test}, simulation {number}",
                    [*(f"- {each}" for each in lost), *(f"+ {each}" for each in gained)],
                )


def by_test(tests: Mapping[str, Runs]) -> Mapping[str, Runs]:
    """Return the set of each test's findings as one simulation, with both lines of a finding in ascending order."""
    return {
        test: [Counter({_unordered(entry) for run in runs for entry in run if entry != "clean"})]
        for test, runs in tests.items()
    }


def _unordered(entry: str) -> str:
    severity, rule, *lines = entry.split()
    return " ".join((severity, rule, *sorted(lines, key=int)))


def main() -> int:
    """Compare two files; return 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--by-test", action="store_true", help="compare the sets of each test's findings")
    options = parser.parse_args()
    before, after = read(options.before), read(options.after)
    if options.by_test:
        before, after = by_test(before), by_test(after)
    found = list(differences(before, after))
    say = partial(print, file=sys.stdout)
    for name, lines in found[:_SHOWN]:
        say("\n  ".join((name, *lines)))
    say(f"{len(before.keys() & after.keys())} tests in both files, {len(before.keys() ^ after.keys())} in one only")
    say(f"{len(found)} simulations differ")
    rules = Counter(" ".join(line.split()[:3]) for _, lines in found for line in lines)
    for rule, count in rules.most_common():
        say(f"{count:6} {rule}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
