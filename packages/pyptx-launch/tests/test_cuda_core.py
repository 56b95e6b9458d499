"""cuda.core streams, views and buffers as launch arguments, and images as cuda.core.ObjectCode."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from pyptx_launch import LaunchError, Module, Plan, Pointer, Scalar

from .images import POINTER, image, ptxas, scalar

ONE = (1, 1, 1)


def plan_of(*parameters):
    return Plan(Module(image(*(POINTER for _ in parameters))), "k", grid=ONE, block=ONE, parameters=parameters)


@pytest.fixture
def core(null):
    """Return cuda.core on the null driver, with device 0 current."""
    from cuda import core

    core.Device(0).set_current()
    null.take()
    return core


class Foreign:
    """Stream of a foreign library that implements `__cuda_stream__`."""

    def __init__(self, handle, version=0):
        self.told = (version, handle)

    def __cuda_stream__(self):
        return self.told


class View:
    """Memory that the device can or cannot access."""

    def __init__(self, ptr, is_device_accessible):
        self.ptr, self.is_device_accessible = ptr, is_device_accessible


def test_a_stream_of_cuda_core_is_launched_on(null, core):
    stream = core.Stream.from_handle(0x1230)
    plan_of(Pointer(0)).launch((0x70,), stream, 0)
    (launch,) = null.launches()
    assert launch["stream"] == 0x1230
    assert launch["parameters"] == [(0x70).to_bytes(8, "little")]


def test_any_stream_that_speaks_the_protocol_is_launched_on(null):
    plan = plan_of()
    plan.launch((), Foreign(77), 1)
    assert [(each["stream"], each["context"]) for each in null.launches()] == [(77, 1)]
    with pytest.raises(LaunchError, match=r"unsupported __cuda_stream__ version 3 of .* only 0"):
        plan.launch((), Foreign(77, version=3), 1)
    with pytest.raises(TypeError, match="stream must be a CUstream number"):
        plan.launch((), "stream", 0)
    assert null.launches() == []


def test_views_and_buffers_of_cuda_core_are_addresses(null, core):
    from cuda.core.utils import StridedMemoryView

    managed = View(0x1000, is_device_accessible=True)
    buffer = core.Buffer.from_handle(0x2000, 64, mr=Everywhere(core))
    plan_of(*map(Pointer, range(3))).launch((managed, buffer, 0x3000), 0, 0)
    (launch,) = null.launches()
    assert [int.from_bytes(each, "little") for each in launch["parameters"]] == [0x1000, 0x2000, 0x3000]
    host = StridedMemoryView.from_any_interface(np.zeros(4, np.float32), stream_ptr=-1)
    with pytest.raises(LaunchError, match=r"k: tensor 1 is not accessible from the device: .*StridedMemoryView"):
        plan_of(Pointer(0), Pointer(1)).launch((0x1000, host), 0, 0)
    assert null.launches() == []


def Everywhere(core):  # noqa: N802 - a class, defined if cuda.core is installed
    class Resource(core.MemoryResource):
        is_device_accessible = True
        is_host_accessible = True
        device_id = 0

        def allocate(self, size, *, stream=None):
            raise NotImplementedError

        def deallocate(self, ptr, size, *, stream=None):
            pass

    return Resource()


@pytest.mark.parametrize("pointers", [(object(),), (None,), ("0x70",)])
def test_what_tells_no_address_is_refused(null, pointers):
    with pytest.raises(TypeError, match="k: tensor 0 must be an address or have one in ptr or handle"):
        plan_of(Pointer(0)).launch(pointers, 0, 0)
    assert null.launches() == []


def test_a_wrong_scalar_is_still_the_error_that_it_was(null):
    module = Module(image(POINTER, scalar("f32")))
    plan = Plan(module, "k", grid=ONE, block=ONE, parameters=(Pointer(0), Scalar("f32", "a")))
    with pytest.raises(TypeError, match="must be real number, not str"):
        plan.launch((0x70,), 0, 0, ("1",))
    assert null.launches() == []


def test_a_module_is_an_object_code_that_cuda_core_loads(null, core):
    module = Module(image(POINTER))
    code = module.object_code()
    assert isinstance(code, core.ObjectCode)
    assert bytes(code.code) == module.image
    null.take()
    code.get_kernel("k")
    assert len(null.take("cuLibraryLoadData")) == 1


@pytest.mark.ptxas
@pytest.mark.usefixtures("core")
def test_a_cubin_is_one_too(tmp_path):
    source, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    source.write_bytes(image(POINTER))
    subprocess.run([ptxas(), "-arch=sm_90", source, "-o", cubin], check=True)
    code = Module(cubin.read_bytes()).object_code()
    assert code.code_type == "cubin"
    assert code.get_kernel("k").num_arguments == 1


WITHOUT = """
import sys
sys.modules["cuda.core"] = None
import pyptx_launch as p
try:
    p.Module(b".version 8.0 .entry k() { ret; }").object_code()
except ImportError as error:
    print(error)
"""


def test_without_cuda_core_the_error_says_what_to_install(null):
    environment = os.environ | {"PYPTX_LIBCUDA": str(null.path)}
    done = subprocess.run([sys.executable, "-c", WITHOUT], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "cuda.core, which has ObjectCode, is not installed: pip install cuda-core\n"
