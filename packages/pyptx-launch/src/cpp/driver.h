// The driver library, opened at first need: its functions, its errors, its contexts.
#pragma once

#include <string>

#include "driver_types.h"

namespace pyptx {

// name in this table, symbol in the library, arguments. All are in drivers of CUDA 12.0 and later.
#define PYPTX_DRIVER_FUNCTIONS(X)                                                                                   \
  X(init, "cuInit", (unsigned))                                                                                     \
  X(driver_version, "cuDriverGetVersion", (int*))                                                                   \
  X(error_name, "cuGetErrorName", (cu::Result, const char**))                                                       \
  X(error_string, "cuGetErrorString", (cu::Result, const char**))                                                   \
  X(device_count, "cuDeviceGetCount", (int*))                                                                       \
  X(device_name, "cuDeviceGetName", (char*, int, cu::Device))                                                       \
  X(device_attribute, "cuDeviceGetAttribute", (int*, int, cu::Device))                                              \
  X(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, cu::Device))                                               \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (cu::Context*, cu::Device))                                 \
  X(context_current, "cuCtxGetCurrent", (cu::Context*))                                                             \
  X(context_set_current, "cuCtxSetCurrent", (cu::Context))                                                          \
  X(library_load, "cuLibraryLoadData",                                                                              \
    (cu::Library*, const void*, int*, void**, unsigned, int*, void**, unsigned))                                    \
  X(library_unload, "cuLibraryUnload", (cu::Library))                                                               \
  X(library_kernel, "cuLibraryGetKernel", (cu::Kernel*, cu::Library, const char*))                                  \
  X(kernel_function, "cuKernelGetFunction", (cu::Function*, cu::Kernel))                                            \
  X(kernel_attribute, "cuKernelGetAttribute", (int*, int, cu::Kernel, cu::Device))                                  \
  X(kernel_set_attribute, "cuKernelSetAttribute", (int, int, cu::Kernel, cu::Device))                               \
  X(launch, "cuLaunchKernelEx", (const cu::LaunchConfig*, cu::Function, void**, void**))                            \
  X(encode_tiled, "cuTensorMapEncodeTiled",                                                                         \
    (cu::TensorMap*, int, unsigned, cu::Address, const std::uint64_t*, const std::uint64_t*, const unsigned*,       \
     const unsigned*, int, int, int, int))                                                                          \
  X(encode_im2col, "cuTensorMapEncodeIm2col",                                                                       \
    (cu::TensorMap*, int, unsigned, cu::Address, const std::uint64_t*, const std::uint64_t*, const int*,            \
     const int*, unsigned, unsigned, const unsigned*, int, int, int, int))                                          \
  X(replace_address, "cuTensorMapReplaceAddress", (cu::TensorMap*, cu::Address))                                    \
  X(allocate, "cuMemAlloc_v2", (cu::Address*, std::size_t))                                                         \
  X(free, "cuMemFree_v2", (cu::Address))                                                                            \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", (cu::Address, const void*, std::size_t, cu::Stream))                    \
  X(stream_create, "cuStreamCreate", (cu::Stream*, unsigned))                                                       \
  X(stream_synchronize, "cuStreamSynchronize", (cu::Stream))                                                        \
  X(stream_destroy, "cuStreamDestroy_v2", (cu::Stream))                                                             \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int*))

struct Driver {
#define PYPTX_DECLARE(field, symbol, arguments) cu::Result(*field) arguments = nullptr;
  PYPTX_DRIVER_FUNCTIONS(PYPTX_DECLARE)
#undef PYPTX_DECLARE
  // Since CUDA 12.4; null in older drivers, where a plan cannot compare its parameters with the entry's.
  cu::Result (*kernel_parameter)(cu::Kernel, std::size_t, std::size_t*, std::size_t*) = nullptr;
};

// Return the driver, opening $PYPTX_LIBCUDA or libcuda.so.1 at the first call; throws DriverMissingError.
const Driver& driver();

// Throw DriverError unless `result` is success; `doing` says what was asked for, in the words of a user.
void check(cu::Result result, const char* function, const std::string& doing = {});

// Return the primary context of a device, retained once and for the life of the process.
cu::Context primary_context(int device);

int device_attribute(cu::DeviceAttribute attribute, int device);

// Make a context current for as long as this lives, and then the one that was.
class ContextScope {
 public:
  explicit ContextScope(cu::Context context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  cu::Context previous_ = nullptr;
  bool changed_ = false;
};

// Allow this thread what stream capture elsewhere forbids (allocating, copying), for as long as this lives.
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_ = cu::kCaptureModeRelaxed;
};

}  // namespace pyptx
