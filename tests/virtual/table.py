"""Releases of Triton and the programs that run with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
PROGRAMS_FOLDER: Final = HERE / "programs"

RELEASES: Final = ("3.2.0", "3.4.0", "3.6.0", "3.9.0")
"""Releases of Triton, the newest last."""
LEAST_PROGRAMS: Final = 12
"""Number of programs that must be right with each release."""


@dataclass(frozen=True, slots=True)
class Program:
    """A file of `programs/`: a script that compares its kernels with torch at three sizes.

    `since` is the first release of Triton that has what the program uses, `targets` are the targets to run it for.
    """

    name: str
    since: str = "3.2.0"
    targets: tuple[str, ...] = ("sm_90a",)

    @property
    def path(self) -> Path:
        """The program's file."""
        return PROGRAMS_FOLDER / f"{self.name}.py"

    def runs_with(self, release: str) -> bool:
        """Return whether a release of Triton has what the program uses."""
        return version(release) >= version(self.since)


def version(release: str) -> tuple[int, ...]:
    """Return a release as numbers, by which releases are ordered."""
    return tuple(map(int, release.split(".")))


PROGRAMS: Final = (
    Program("vector_add", targets=("sm_80", "sm_90a", "sm_100a")),
    Program("softmax"),
    Program("matmul", targets=("sm_80", "sm_90a")),
    Program("tuned_matmul"),
    Program("dropout"),
    Program("layer_norm"),
    Program("attention"),
    Program("grouped_gemm"),
    Program("persistent_matmul"),
    Program("split_k"),
    Program("cluster"),
    Program("reductions"),
    Program("random_tiles", since="3.4.0"),  # 3.2 has no tl.gather
    Program("random_loops", since="3.9.0", targets=("sm_80", "sm_90a")),  # 3.4 and 3.6 omit proxy fences
    Program("chained_scan"),
    Program("producer_consumer"),
    Program("transpose"),
    Program("stencil"),
    Program("work_queue"),
    Program("embedding"),
    Program("reinterpreted"),
    Program("machine_code"),
    Program("inductor", since="3.9.0"),  # the release that torch 2.13 supports
    Program("cooperative", since="3.4.0"),
    Program("dependent", since="3.6.0"),  # in 3.4, gdc_wait raises TypeError
    Program("tma_matmul", since="3.4.0", targets=("sm_90a", "sm_100a")),
    Program("warp_specialized", since="3.4.0", targets=("sm_100a",)),
    Program("gluon_copy", since="3.6.0"),
    Program("gluon_tma", since="3.6.0"),
)
