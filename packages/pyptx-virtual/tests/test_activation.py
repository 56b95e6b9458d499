"""Activation is explicit, happens once per process, and its errors name the fault."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import pyptx_virtual
from pyptx_virtual import activation
from pyptx_virtual.errors import ActivationError, NotActive, RealGpuPresent


def output_of(script: str) -> str:
    """Return the output of a Python script in a process of its own."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_import_loads_no_framework_and_activates_nothing() -> None:
    script = """
        import sys, pyptx_virtual
        from pyptx_virtual.errors import NotActive
        try:
            pyptx_virtual.active()
        except NotActive as error:
            print(error)
        print(sorted({"torch", "triton", "jax"} & sys.modules.keys()))
    """
    assert output_of(script) == "no virtual device is active\nhelp: call pyptx_virtual.activate()\n[]\n"


def test_without_a_device_active_raises() -> None:
    with pytest.raises(NotActive):
        pyptx_virtual.active()


def test_an_unknown_target_is_an_error_that_names_similar_targets() -> None:
    with pytest.raises(Exception, match="sm_91a"):
        pyptx_virtual.activate("sm_91a", doors=())


def test_an_unknown_door_is_an_error_that_lists_the_doors() -> None:
    with pytest.raises(ActivationError, match=r"unknown door 'tensorflow'\nhelp: use some of torch, triton"):
        pyptx_virtual.activate(doors=("tensorflow",))


def test_a_real_gpu_is_not_hidden_without_being_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activation, "real_gpus", lambda: 2)
    with pytest.raises(RealGpuPresent, match=r"this machine has 2 GPUs\nhelp: pass shadow_gpu=True"):
        pyptx_virtual.activate(doors=())
    with pytest.raises(NotActive):
        pyptx_virtual.active()


def test_a_second_activation_returns_the_device_or_refuses_other_options() -> None:
    script = """
        import pyptx_virtual
        from pyptx_virtual.errors import AlreadyActive
        first = pyptx_virtual.activate("sm_100a", doors=(), memory_bytes=1 << 24, shadow_gpu=True)
        again = pyptx_virtual.activate("sm_100a", doors=(), memory_bytes=1 << 24)
        print(first is again is pyptx_virtual.active(), first.name, first.capability)
        try:
            pyptx_virtual.activate("sm_90a", doors=(), memory_bytes=1 << 24)
        except AlreadyActive as error:
            print(error)
    """
    assert output_of(script) == (
        "True pyptx virtual GPU (sm_100a) (10, 0)\n"
        "a virtual sm_100a with 16777216 bytes of memory is active\n"
        "help: activate one device per process\n"
    )


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_HOOKS", "_ZN5wrong", "lacks the symbol _ZN5wrong"),
        ("_REGISTRY", "_ZN5wrong", "lacks the symbol _ZN5wrong"),
        ("_VIRTUAL", "re.compile('virtual void (absent)')", "the CUDA hooks do not begin with their destructor"),
        ("_ROOT", "pathlib.Path('absent')", "has no library libc10"),
    ],
)
@pytest.mark.long
def test_a_torch_without_a_needed_part_is_one_clear_error(name: str, value: str, message: str) -> None:
    script = f"""
        import pathlib, re, warnings
        warnings.filterwarnings("ignore")
        import torch, pyptx_virtual
        from pyptx_virtual.errors import UnsupportedTorch
        from pyptx_virtual.torch import native
        native.{name} = {value if "(" in value else repr(value)}
        try:
            pyptx_virtual.activate(shadow_gpu=True)
        except UnsupportedTorch as error:
            print(error.message.replace(torch.__version__, "X"))
    """
    found = output_of(script)
    assert found.startswith("torch X"), found
    assert message in found
