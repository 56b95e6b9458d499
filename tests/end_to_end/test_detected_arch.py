"""`arch="auto"` selects the target of the device that launches use: the device of the driver in PYPTX_LIBCUDA."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyptx_ir.plugins.homes import gpu_remedy

NULL_DRIVER = Path(__file__).resolve().parents[2] / "packages" / "pyptx-launch" / "tests" / "null_driver.py"

# Plugins that the child process loads; no other plugin is loaded.
DETECT = """
import ctypes, sys
for name, value in {settings}.items():
    ctypes.CDLL({library!r}).null_driver_set(name.encode(), value)
from pyptx import detect_arch
try:
    print(detect_arch(), "torch" in sys.modules, "jax" in sys.modules)
except Exception as error:
    print(type(error).__name__, error)
"""


def detected(plugin: str, library: str, **settings: int) -> str:
    """Return the target detected by a process whose driver is a null driver with these settings."""
    environment = os.environ | {
        "PYPTX_LIBCUDA": library,
        "PYPTX_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYPTX_PLUGINS": f"{plugin}.plugin",
    }
    command = [sys.executable, "-c", DETECT.format(settings=settings, library=library)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def library() -> str:
    spec = importlib.util.spec_from_file_location("null_driver", NULL_DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.build())


@pytest.mark.parametrize(
    "plugin",
    [pytest.param("pyptx_torch", marks=pytest.mark.torch), pytest.param("pyptx_jax", marks=pytest.mark.jax)],
)
def test_the_runtimes_tell_the_arch_of_their_driver_and_import_no_framework_for_it(library: str, plugin: str) -> None:
    assert detected(plugin, library, capability=103) == "sm_103a False False"
    assert detected(plugin, library, capability=86) == "sm_86 False False"
    none = detected(plugin, library, devices=0)
    assert none.startswith("ArchError cannot detect the GPU's target: querying device 0")
    assert 'pass the target: @kernel(arch="sm_90a")' in none


def test_without_a_runtime_the_error_says_what_to_install(library: str) -> None:
    said = detected("pyptx_sim", library)
    assert said.startswith("ArchError cannot detect the GPU's target: no runtime that launches on GPUs is installed")
    assert gpu_remedy() in said
