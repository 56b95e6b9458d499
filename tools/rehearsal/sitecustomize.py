"""Make the driver at PYPTX_LIBCUDA a host driver in every Python process of a dry run.

Python imports this module by its name at startup, from PYTHONPATH. It applies to the tests and benchmarks of
tools/gpu_check.sh and to the processes that they start, without changes to them.
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import util
from pathlib import Path

SIMULATED = Path(__file__).resolve().parents[2] / "packages" / "pyptx-launch" / "tests" / "host_driver" / "simulated.py"


def install() -> None:
    """Load the driver, with the simulator as its backend; without the simulator on the path it is a null driver."""
    driver = ctypes.CDLL(os.environ["PYPTX_LIBCUDA"], mode=ctypes.RTLD_GLOBAL)
    driver.null_driver_record(0)
    # Build processes, and processes started before PYTHONPATH is set, cannot import the simulator.
    if util.find_spec("pyptx_sim") is None:
        return
    spec = util.spec_from_file_location("host_driver_simulated", SIMULATED)
    if spec is None or spec.loader is None:
        raise ImportError(SIMULATED)
    module = sys.modules[spec.name] = util.module_from_spec(spec)  # keeps the module loaded: the driver points into it
    spec.loader.exec_module(module)
    module.install(os.environ["PYPTX_LIBCUDA"])


install()
