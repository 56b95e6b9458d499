"""Dry run of tools/gpu_check.sh without a GPU and without a network, on the host driver of pyptx-launch's tests.

python tools/gpu_rehearsal.py

The script is tested with this Python, which must have the packages of a machine with a GPU (`nox -s gpu_rehearsal`
installs them). Device memory is host memory, and the simulator runs the launches. Tests that need a framework's device
or the hardware itself are omitted, and the summary lists them. Output goes to $OUT (default: gpu_rehearsal_results).
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REHEARSAL = ROOT / "tools" / "rehearsal"
NULL_DRIVER = ROOT / "packages" / "pyptx-launch" / "tests" / "null_driver.py"
WITHOUT = ("torch", "jax", "hardware")  # not usable on this machine: torch and jax, which find no GPU, and GPU hardware
DEAD = "http://127.0.0.1:9"  # network proxy that refuses connections


def host_driver() -> str:
    """Compile the replacement of NVIDIA's driver and return its path."""
    spec = importlib.util.spec_from_file_location("null_driver", NULL_DRIVER)
    if spec is None or spec.loader is None:
        raise ImportError(NULL_DRIVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.build())


def environment(driver: str, folder: Path, ptxas: str) -> dict[str, str]:
    """Return the environment of a dry run, which stores its files in `folder`."""
    for name in ("images", "cache"):
        (folder / name).mkdir()
    proxies = {f"{name}_proxy": DEAD for name in ("http", "https", "all")}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYPTX_", "PIP_", "UV_"))},
        **proxies,
        **{name.upper(): value for name, value in proxies.items()},
        "OUT": os.environ.get("OUT", "gpu_rehearsal_results"),
        "PYTHON": sys.executable,
        "PATH": os.pathsep.join([str(REHEARSAL / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(REHEARSAL),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "JAX_PLATFORMS": "cpu",
        "PYPTX_LIBCUDA": driver,
        "PYPTX_CACHE_DIR": str(folder / "cache"),
        "HOST_DRIVER_IMAGES": str(folder / "images"),
        "HOST_DRIVER_PTXAS": ptxas,
        "GPU_CHECK_WITHOUT": " ".join(WITHOUT),
        "GPU_CHECK_SECONDS": os.environ.get("GPU_CHECK_SECONDS", "1200"),  # time limit in s; a GPU machine needs less
        "GPU_CHECK_PRODUCT_SECONDS": os.environ.get("GPU_CHECK_PRODUCT_SECONDS", "10"),
    }


def alone() -> list[str]:
    """Return a command prefix that runs a command without a network (network namespace); [] if it is not permitted."""
    found = shutil.which("unshare")
    if found is None:
        return []
    command = [found, "--net", "--map-root-user"]
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []


def tool(name: str) -> str:
    """Return the path of the NVIDIA tool `name`, found on PATH or in an installed wheel."""
    found = shutil.which(name)
    if found is None and importlib.util.find_spec("cuda.pathfinder"):
        found = import_module("cuda.pathfinder").find_nvidia_binary_utility(name)
    if found is None:
        sys.exit(f"a dry run needs {name}: on PATH, or pip install nvidia-cuda-nvcc")
    return str(found)


def left_out(out: Path) -> list[str]:
    """Return the stages of gpu_check.sh that the summary lists as left out."""
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return [name for name, each in summary["stages"].items() if each["status"].startswith("left out")]


def main() -> int:
    """Run tools/gpu_check.sh on the host driver, and return its exit status."""
    prefix = alone()
    print(
        "without a network" if prefix else "no network namespace for this user; network proxies refuse connections",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as name:
        found = environment(host_driver(), Path(name), tool("ptxas"))
        status = subprocess.run([*prefix, "bash", "tools/gpu_check.sh"], cwd=ROOT, env=found, check=False).returncode
    print("not rehearsed:", ", ".join(left_out(ROOT / found["OUT"])))
    return status


if __name__ == "__main__":
    sys.exit(main())
