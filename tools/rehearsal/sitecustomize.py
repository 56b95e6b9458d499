"""Make the driver that PYPTX_LIBCUDA names a host driver in every Python process of a rehearsal.

Python imports this by its name when it starts, from PYTHONPATH: the tests and benchmarks that tools/gpu_check.sh runs,
and the processes that they start, need not know that they are rehearsed.
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import util
from pathlib import Path

SIMULATED = Path(__file__).resolve().parents[2] / "packages" / "pyptx-launch" / "tests" / "host_driver" / "simulated.py"


def install() -> None:
    """Load the driver, and let the simulator answer for it; without the simulator on the path it is a null driver."""
    driver = ctypes.CDLL(os.environ["PYPTX_LIBCUDA"], mode=ctypes.RTLD_GLOBAL)
    driver.null_driver_record(0)
    if util.find_spec("pyptx_sim") is None:  # a process of the build, or before the paths are set
        return
    spec = util.spec_from_file_location("host_driver_simulated", SIMULATED)
    if spec is None or spec.loader is None:
        raise ImportError(SIMULATED)
    module = sys.modules[spec.name] = util.module_from_spec(spec)  # its callbacks live as long as the process
    spec.loader.exec_module(module)
    module.install(os.environ["PYPTX_LIBCUDA"])


install()
