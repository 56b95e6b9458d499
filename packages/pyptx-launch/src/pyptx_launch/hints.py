"""Hints for driver errors, by CUresult name (driver API manual)."""

from __future__ import annotations

from typing import Final

_STICKY: Final = "; the context is lost with it: start the process again"

HINTS: Final[dict[str, str]] = {
    "CUDA_ERROR_INVALID_VALUE": (
        "a number of the launch is out of range for this device: compare grid, block, cluster and shared_bytes with"
        " pyptx_launch.driver.devices() and with the attributes of the entry"
    ),
    "CUDA_ERROR_OUT_OF_MEMORY": (
        "free arrays of the device, or give back what a framework keeps (torch.cuda.empty_cache(),"
        " XLA_PYTHON_CLIENT_PREALLOCATE=false)"
    ),
    "CUDA_ERROR_NOT_INITIALIZED": (
        "CUDA does not outlive a fork: start worker processes by spawn, or use the GPU only after forking"
    ),
    "CUDA_ERROR_DEINITIALIZED": "the process is ending and the driver has shut down: launch earlier",
    "CUDA_ERROR_NO_DEVICE": "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES",
    "CUDA_ERROR_INVALID_DEVICE": "see pyptx_launch.driver.devices() for the devices there are",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "another process holds the device exclusively: see nvidia-smi's compute mode",
    "CUDA_ERROR_STUB_LIBRARY": (
        "the toolkit's stub was found in place of the driver: take its folder out of LD_LIBRARY_PATH"
    ),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "driver library and kernel module differ in version: restart the machine",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "forward compatibility is for data-center GPUs: use its own driver",
    "CUDA_ERROR_INVALID_IMAGE": "the image is damaged, or neither a cubin, a fatbin nor PTX: compile it again",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (
        "the image was compiled for another architecture: compile for this device's capability (arch=), or pass PTX"
    ),
    "CUDA_ERROR_INVALID_PTX": "the PTX is wrong: ptxas shows the line; pyptx check explains it",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": (
        "the PTX's .version is newer than this driver: lower it, assemble with ptxas, or update the driver"
    ),
    "CUDA_ERROR_JIT_COMPILER_NOT_FOUND": "the driver came without its PTX compiler: assemble with ptxas beforehand",
    "CUDA_ERROR_JIT_COMPILATION_DISABLED": "CUDA_DISABLE_PTX_JIT is set: unset it, or assemble with ptxas beforehand",
    "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY": "this device does not split its multiprocessors: use the whole device",
    "CUDA_ERROR_INVALID_SOURCE": "the image cannot be read: compile it again",
    "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND": (
        "a symbol stayed unresolved: link the .extern functions and variables in"
    ),
    "CUDA_ERROR_OPERATING_SYSTEM": "the system refused a call of the driver: see its log (dmesg)",
    "CUDA_ERROR_INVALID_HANDLE": (
        "a stream of another device or one that was destroyed: take the current stream of the launch's device"
    ),
    "CUDA_ERROR_INVALID_CONTEXT": "the context was destroyed: do not call cudaDeviceReset while plans live",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "the context was destroyed: do not call cudaDeviceReset while plans live",
    "CUDA_ERROR_NOT_FOUND": "the image has no entry of that name: see its .entry lines",
    "CUDA_ERROR_NOT_SUPPORTED": (
        "this device or driver lacks what was asked for: clusters and tensor maps need compute capability 9.0"
    ),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (
        "a block needs more registers, threads or shared memory than a multiprocessor has: lower the block, or cap"
        " registers by .maxntid and .maxnreg"
    ),
    "CUDA_ERROR_ILLEGAL_ADDRESS": (
        "a kernel that ran before accessed memory out of bounds: run it on the simulator (kernel.simulate) or under"
        " compute-sanitizer" + _STICKY
    ),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (
        "a kernel that ran before accessed memory off its alignment (a vector access needs that of the whole vector):"
        " run it on the simulator (kernel.simulate)" + _STICKY
    ),
    "CUDA_ERROR_LAUNCH_FAILED": (
        "a kernel that ran before hit trap, or an instruction that the hardware refused: run it on the simulator"
        " (kernel.simulate) or under compute-sanitizer" + _STICKY
    ),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": (
        "a kernel that ran before hit an instruction with operands that are not allowed (a descriptor, often)" + _STICKY
    ),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (
        "a kernel that ran before used an address in the wrong state space: check cvta and ld/st" + _STICKY
    ),
    "CUDA_ERROR_INVALID_PC": "a kernel that ran before jumped outside its code: check indirect branches" + _STICKY,
    "CUDA_ERROR_ASSERT": "a kernel that ran before failed an assertion" + _STICKY,
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "a kernel that ran before overflowed its stack: check recursion" + _STICKY,
    "CUDA_ERROR_LAUNCH_TIMEOUT": "a kernel ran longer than the display's driver allows: launch smaller grids" + _STICKY,
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": (
        "a cooperative launch needs every block resident at once: lower the grid, or what a block uses"
    ),
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": (
        "this device cannot place a cluster of that size with what a block uses: lower cluster or shared_bytes"
    ),
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": (
        "the stream is being captured: launch once before the capture, so that nothing has to be loaded during it"
    ),
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED": "an earlier error ended the capture: capture again, after a warm-up call",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT": (
        "the default stream was drawn into a capture: launch on the stream that captures"
    ),
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD": "end a capture in the thread that began it, or begin it relaxed",
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION": "two captures were joined by an event: capture into one graph",
    "CUDA_ERROR_SYSTEM_NOT_READY": "the machine's fabric manager is not running: see nvidia-smi",
}
