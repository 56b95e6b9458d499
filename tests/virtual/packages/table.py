"""Packages with Triton kernels, and the reasons for the tests of theirs that fail on the virtual GPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
TRITON: Final = "3.9.0"
"""Release of Triton that compiles the kernels."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package in the index, and its tests: a table of ours, or a folder of its own tests in its source distribution.

    `needs` are further requirements, `bare` those whose own requirements (torch) are left out. `least` is the share
    of the tests that end in time which must pass.
    """

    name: str
    requirement: str
    needs: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
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
    """Tests of a package that fail, by parts of their node ids, and the reason."""

    package: str
    tests: tuple[str, ...]
    reason: str

    def covers(self, package: str, test: str) -> bool:
        """Return whether this row is about a test."""
        return package == self.package and any(part in test for part in self.tests)


_TRANSFORMERS: Final = "transformers==5.24.0"
PACKAGES: Final = (
    Package(
        "liger_tests", "liger-kernel==0.8.5", (_TRANSFORMERS, "pytest-rerunfailures"), (), "test/transformers", 0.95
    ),
    Package("liger", "liger-kernel==0.8.5", (_TRANSFORMERS,)),
    Package("fla", "fla-core==0.6.0", (_TRANSFORMERS, "einops==0.8.2"), least=0.9),
    Package("flag_gems", "flag-gems==5.0.2", ("sqlalchemy", "packaging", "pyyaml"), least=0.9),
    Package("sageattention", "sageattention==1.0.6", least=0.0),
    Package("cut_cross_entropy", "cut-cross-entropy==25.1.1", ("packaging",), least=0.9),
    Package("torchao", "torchao==0.18.0", least=0.7),
    Package("gemlite", "gemlite==0.6.0.post2", ("tqdm",), least=0.7),
    Package("unsloth", "unsloth==2026.10.9", (_TRANSFORMERS, "psutil", "requests"), ("unsloth_zoo",), least=0.9),
    Package("xformers", "xformers==0.0.35", least=0.7),
)

_LENGTH: Final = "wrong: padded keys are not masked if the length is not a multiple of 64"
_STAGE: Final = "out-of-bounds: stage 2 of the causal kernel always reads K_scale up to (start_m + 1) * 128"
FAILURES: Final = (
    Failure("fla", ("path-attn-1x17",), "missing-wgmma-fence: Triton 3.9 writes accumulators after its fence"),
    Failure(
        "fla", ("chunk-rwkv6-1x64",), "early-reuse: block i + 2 is loaded into the buffer that wgmma of block i reads"
    ),
    Failure("flag_gems", ("group_norm",), "race: a group of a size other than 2^n writes into the next one"),
    Failure("flag_gems", ("nll_loss_forward",), "race: the counter is read without acquire after atomic_add"),
    Failure("flag_gems", ("unique",), "race: several lanes store the same word; each stores the same value"),
    Failure("sageattention", ("causal",), _STAGE),
    Failure("sageattention", ("33x", "130x", "varlen", "64x96", "128x64"), _LENGTH),
    Failure("cut_cross_entropy", ("softcap",), "wrong: the cap follows the mask, so that padded classes count"),
    Failure("torchao", ("jagged-rows",), "race: the stride of an output row is 1 if it is row-major"),
    Failure("torchao", ("jagged-columns",), "out-of-bounds: the mask of the scales lacks the offset of the block"),
    Failure("torchao", ("training-product",), "out-of-bounds: a_s_ptr is loaded without a mask"),
    Failure("gemlite", ("int8-weights",), "out-of-bounds: scales_ptr is loaded without a mask for the last block"),
    Failure("xformers", ("rms-norm-add",), "race: x is stored, and loaded in another layout without a barrier"),
)
