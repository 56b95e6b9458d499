"""Packages with Triton kernels, and the reasons for the tests of theirs that fail on the virtual GPU."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
TRITON: Final = "3.9.0"
"""Release of Triton that compiles the kernels."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package in the index, and its tests: a table of ours, or a folder of its own tests in its source distribution.

    `needs` are further requirements. `least` is the share of the tests that end in time which must pass.
    """

    name: str
    requirement: str
    needs: tuple[str, ...] = ()
    suite: str | None = None
    least: float = 1.0

    @property
    def distribution(self) -> str:
        """Name of the package in the index."""
        return self.requirement.partition("==")[0]

    @property
    def version(self) -> str:
        """Version, as pinned."""
        return self.requirement.partition("==")[2]

    @property
    def table(self) -> Path:
        """Our table of the package's operators."""
        return HERE / "tables" / f"{self.name}.py"


@dataclass(frozen=True, slots=True)
class Failure:
    """Tests of a package that fail, by patterns of their node ids, and the reason."""

    package: str
    tests: tuple[str, ...]
    reason: str

    def covers(self, package: str, test: str) -> bool:
        """Return whether this row is about a test."""
        return package == self.package and any(fnmatchcase(test, pattern) for pattern in self.tests)


_TRANSFORMERS: Final = "transformers==5.24.0"
PACKAGES: Final = (
    Package("liger_tests", "liger-kernel==0.8.5", (_TRANSFORMERS, "pytest-rerunfailures"), "test/transformers", 0.95),
    Package("liger", "liger-kernel==0.8.5", (_TRANSFORMERS,)),
    Package("fla", "fla-core==0.6.0", (_TRANSFORMERS, "einops==0.8.2"), least=0.9),
)
FAILURES: Final[tuple[Failure, ...]] = ()
