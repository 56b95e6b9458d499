"""Compile typical Blackwell kernels of other compilers for tools/static_evidence.py: PTX before ptxas.

    python -m tests.foreign.flagships FOLDER [--environments FOLDER]

Writes `NAME.ptx` for each kernel listed below, and `made_by.json`: compiler and version of each. CUTLASS is compiled by
the nvcc on PATH, which takes minutes (`nox -s evidence` puts its own nvcc there). The kernels of pyptx 0.1.1 are traced
by this repository.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .languages import REQUIREMENTS, ROOT, SOURCES, compile_source, environment, newest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TARGET = "sm_100a"
NVCC = shutil.which("nvcc") or "nvcc"
OLDER = "pyptx==0.1.1"


@dataclass(frozen=True, slots=True)
class Instance:
    """A CUTLASS source with values of its macros; `examples` are CUTLASS example folders that it includes from."""

    source: str
    macros: Mapping[str, object]
    examples: tuple[str, ...] = ()

    def compiled(self, cutlass: Path) -> str:
        """Return the PTX that nvcc generates with the headers in a folder."""
        folders = [
            cutlass / "include",
            cutlass / "tools/util/include",
            *(cutlass / "examples" / each for each in self.examples),
        ]
        words = [f"-D{name}={value}" for name, value in self.macros.items()]
        options = ("-ptx", "-std=c++17", "-O3", "--expt-relaxed-constexpr", "-w", f"-arch={TARGET}")
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "module.ptx"
            source = str(SOURCES / "cutlass" / self.source)
            subprocess.run(
                [NVCC, *options, *words, *(f"-I{each}" for each in folders), source, "-o", str(output)], check=True
            )
            return output.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Older:
    """A kernel of the examples of pyptx 0.1.1: the function that builds it, and its sizes."""

    module: str
    builder: str
    sizes: tuple[int, ...]

    def text(self) -> str:
        """Trace the kernel and return its PTX; the examples of pyptx 0.1.1 must be importable."""
        module = importlib.import_module(f"examples.blackwell.{self.module}")
        text: str = getattr(module, self.builder)(*self.sizes).ptx()
        return text


FMHA = ("77_blackwell_fmha",)
HEADS = {"BM": 256, "BN": 128, "MASK": "NoMask"}
CUTLASS = {
    "cutlass-matmul": Instance("matmul.cu", {"BM": 128, "BN": 256, "BK": 64, "PAIR": 1}),
    "cutlass-matmul-of-pairs": Instance("matmul.cu", {"BM": 256, "BN": 256, "BK": 64, "PAIR": 2}),
    "cutlass-attention-128": Instance("attention.cu", HEADS | {"HEAD": 128}, FMHA),
}
OLDER_KERNELS = {"older-matmul-of-pairs": Older("gemm_highperf_blackwell", "build_gemm_2sm", (8192, 8192, 8192))}
DSLS = {"triton": "flagships", "cutedsl": "flagships"}


def of_dsls(into: Path, environments: Path) -> dict[str, str]:
    """Write the PTX of the flagship kernels of the Python languages; return the compiler of each."""
    made_by: dict[str, str] = {}
    for compiler in map(newest, DSLS):
        with tempfile.TemporaryDirectory() as folder:
            source = SOURCES / compiler.language / f"{DSLS[compiler.language]}.py"
            compile_source(compiler, source, environment(compiler.environment, environments), Path(folder), (TARGET,))
            for case in sorted(Path(folder).glob(f"*.{TARGET}")):
                name = f"{compiler.language}-{case.name.removesuffix(f'.{TARGET}')}"
                (into / f"{name}.ptx").write_text((case / "0.ptx").read_text(encoding="utf-8"), encoding="utf-8")
                made_by[name] = f"{compiler.title} {compiler.version}"
    return made_by


def of_cutlass(into: Path, environments: Path) -> dict[str, str]:
    """Write the PTX of the CUTLASS instances; return the compiler of each."""
    (cutlass,) = environment("cutlass", environments).glob("lib/python3*/site-packages/cutlass_library/source")
    version = re.search(r"==(\d+\.\d+\.\d+)", (REQUIREMENTS / "cutlass.txt").read_text(encoding="utf-8"))
    said = subprocess.run([NVCC, "--version"], check=True, capture_output=True, text=True).stdout
    release = re.search(r"release (\d+\.\d+)", said)
    assert version is not None
    assert release is not None
    for name, instance in CUTLASS.items():
        (into / f"{name}.ptx").write_text(instance.compiled(cutlass), encoding="utf-8")
    return dict.fromkeys(CUTLASS, f"CUTLASS {version[1]}, nvcc {release[1]}")


def of_the_older(into: Path) -> dict[str, str]:
    """Download the wheel of pyptx 0.1.1, trace its kernels, and write their PTX; return the pyptx version of each."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, OLDER]
        subprocess.run(command, check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith("pyptx/examples/")])
        (Path(folder) / "pyptx" / "examples" / "__init__.py").touch()
        sys.path.insert(0, str(Path(folder) / "pyptx"))
        for name, row in OLDER_KERNELS.items():
            (into / f"{name}.ptx").write_text(row.text(), encoding="utf-8")
        sys.path.remove(str(Path(folder) / "pyptx"))
    return dict.fromkeys(OLDER_KERNELS, OLDER.replace("==", " "))


def main(argv: Sequence[str] | None = None) -> None:
    """Compile all flagship kernels, and write `made_by.json`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("into", type=Path, metavar="FOLDER")
    parser.add_argument("--environments", type=Path, default=ROOT / ".nox" / "corpus-environments", metavar="FOLDER")
    options = parser.parse_args(argv)
    options.into.mkdir(parents=True, exist_ok=True)
    made_by = of_dsls(options.into, options.environments) | of_cutlass(options.into, options.environments)
    made_by |= of_the_older(options.into)
    (options.into / "made_by.json").write_text(json.dumps(made_by, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
