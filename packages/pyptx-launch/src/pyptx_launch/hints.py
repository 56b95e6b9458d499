"""Help texts for driver errors, by CUresult name (driver API manual)."""

from __future__ import annotations

from typing import Final

_STICKY: Final = "; restart the process, because the context is lost"

HINTS: Final[dict[str, str]] = {
    "CUDA_ERROR_INVALID_VALUE": (
        "check grid, block, cluster and shared_bytes, one of them out of range for this device, against"
        " pyptx_launch.driver.devices() and the attributes of the entry"
    ),
    "CUDA_ERROR_OUT_OF_MEMORY": (
        "free device arrays, or the memory that a framework caches (torch.cuda.empty_cache(),"
        " XLA_PYTHON_CLIENT_PREALLOCATE=false)"
    ),
    "CUDA_ERROR_NOT_INITIALIZED": (
        "start worker processes by spawn, or use the GPU only after forking: a fork loses CUDA's state"
    ),
    "CUDA_ERROR_DEINITIALIZED": "launch earlier: the process is exiting and the driver has shut down",
    "CUDA_ERROR_NO_DEVICE": "check nvidia-smi and CUDA_VISIBLE_DEVICES: no GPU is visible",
    "CUDA_ERROR_INVALID_DEVICE": "pass a device listed by pyptx_launch.driver.devices()",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "check nvidia-smi's compute mode: another process uses the device exclusively",
    "CUDA_ERROR_STUB_LIBRARY": (
        "remove the folder of the toolkit's stub library from LD_LIBRARY_PATH: it was found instead of the driver"
    ),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "restart the machine: driver library and kernel module differ in version",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": (
        "use the GPU's own driver: forward compatibility is for data-center GPUs"
    ),
    "CUDA_ERROR_INVALID_IMAGE": "compile the image again: it is damaged, or neither a cubin, a fatbin nor PTX",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (
        "compile for this device's compute capability (arch=), or pass PTX: the image is for another architecture"
    ),
    "CUDA_ERROR_INVALID_PTX": "run ptxas or pyptx check on the PTX, which is invalid: both show the line",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (
        "lower the PTX's .version, which is too new for this driver, assemble with ptxas, or update the driver"
    ),
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": "assemble with ptxas beforehand: the driver has no PTX compiler",
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": "unset CUDA_DISABLE_PTX_JIT, or assemble with ptxas beforehand",
    "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY": "use the whole device: it does not support partitioning of its SMs",
    "CUDA_ERROR_INVALID_SOURCE": "compile the image again: it cannot be read",
    "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND": (
        "link the modules that define the .extern functions and variables: a symbol is unresolved"
    ),
    "CUDA_ERROR_OPERATING_SYSTEM": "check the system log (dmesg): the operating system refused a call of the driver",
    "CUDA_ERROR_INVALID_HANDLE": ("pass a live stream of the launch's device, such as its current stream"),
    "CUDA_ERROR_INVALID_CONTEXT": "do not call cudaDeviceReset while plans exist: it destroys their context",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "do not call cudaDeviceReset while plans exist: it destroys their context",
    "CUDA_ERROR_NOT_FOUND": "pass the name of an .entry of the image",
    "CUDA_ERROR_NOT_SUPPORTED": (
        "use a device and a driver that support it: clusters and tensor maps need compute capability 9.0"
    ),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (
        "use smaller CTAs (each needs more registers, threads or shared memory than an SM has), or limit"
        " registers with .maxntid and .maxnreg"
    ),
    "CUDA_ERROR_ILLEGAL_ADDRESS": (
        "find the out-of-bounds access of an earlier kernel with the simulator (kernel.simulate) or"
        " compute-sanitizer" + _STICKY
    ),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (
        "find the misaligned access of an earlier kernel with the simulator (kernel.simulate): a vector access needs"
        " the alignment of the whole vector" + _STICKY
    ),
    "CUDA_ERROR_LAUNCH_FAILED": (
        "find the trap or invalid instruction of an earlier kernel with the simulator (kernel.simulate)"
        " or compute-sanitizer" + _STICKY
    ),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": (
        "check the operands (often descriptors) of an earlier kernel: the GPU rejected an instruction" + _STICKY
    ),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (
        "check cvta and ld/st of an earlier kernel, which used an address in the wrong state space" + _STICKY
    ),
    "CUDA_ERROR_INVALID_PC": "check indirect branches of an earlier kernel, which jumped outside its code" + _STICKY,
    "CUDA_ERROR_ASSERT": "correct the failed assertion of an earlier kernel" + _STICKY,
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "check the recursion of an earlier kernel, which overflowed its stack" + _STICKY,
    "CUDA_ERROR_LAUNCH_TIMEOUT": "launch smaller grids: a kernel exceeded the display driver's time limit" + _STICKY,
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": (
        "launch fewer CTAs or use smaller ones: a cooperative launch needs all CTAs resident at once"
    ),
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": (
        "lower cluster or shared_bytes: a cluster of this size does not fit on this device"
    ),
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": ("launch once before the stream capture: code cannot be loaded during it"),
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "capture again after a warm-up call: an earlier error ended the capture",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": ("launch on the capturing stream, not on the default stream"),
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": "end a capture in the thread that began it, or begin it in relaxed mode",
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": "capture into one graph: an event joins two captures",
    "CUDA_ERROR_SYSTEM_NOT_READY": "start the machine's fabric manager (see nvidia-smi)",
}
