// The CUDA driver library, opened at first use: its functions, errors and contexts.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "driver_types.h"

namespace pyptx {

// The C++ exception of this package, with the name of the class of pyptx_launch.errors that it becomes in Python.
struct Failure : std::exception {
  Failure(const char* kind, std::string message) : kind(kind), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }

  const char* kind;                // the name of the Python class
  std::string message;             // the fault and its reason
  std::string name, meaning, log;  // of a driver error: CUDA_ERROR_…, its description, the PTX compiler's log
  int code = 0;
};

// Field of `Driver`, symbol in the library, and parameters of each driver function that a launch calls. All exist since
// CUDA 12.0. libcuda.py calls the other driver functions.
#define PYPTX_DRIVER_FUNCTIONS(X)                                                                                    \
  X(init, "cuInit", (unsigned))                                                                                      \
  X(error_name, "cuGetErrorName", (cu::Result, const char**))                                                        \
  X(error_string, "cuGetErrorString", (cu::Result, const char**))                                                    \
  X(device_count, "cuDeviceGetCount", (int*))                                                                        \
  X(device_attribute, "cuDeviceGetAttribute", (int*, int, cu::Device))                                               \
  X(primary_context_retain, "cuDevicePrimaryCtxRetain", (cu::Context*, cu::Device))                                  \
  X(context_current, "cuCtxGetCurrent", (cu::Context*))                                                              \
  X(context_set_current, "cuCtxSetCurrent", (cu::Context))                                                           \
  X(kernel_function, "cuKernelGetFunction", (cu::Function*, cu::Kernel))                                             \
  X(kernel_attribute, "cuKernelGetAttribute", (int*, int, cu::Kernel, cu::Device))                                   \
  X(kernel_set_attribute, "cuKernelSetAttribute", (int, int, cu::Kernel, cu::Device))                                \
  X(launch, "cuLaunchKernelEx", (const cu::LaunchConfig*, cu::Function, void**, void**))                             \
  X(encode_tiled, "cuTensorMapEncodeTiled",                                                                          \
    (cu::TensorMap*, int, unsigned, cu::Address, const std::uint64_t*, const std::uint64_t*, const unsigned*,        \
     const unsigned*, int, int, int, int))                                                                           \
  X(encode_im2col, "cuTensorMapEncodeIm2col",                                                                        \
    (cu::TensorMap*, int, unsigned, cu::Address, const std::uint64_t*, const std::uint64_t*, const int*, const int*, \
     unsigned, unsigned, const unsigned*, int, int, int, int))                                                       \
  X(replace_address, "cuTensorMapReplaceAddress", (cu::TensorMap*, cu::Address))                                     \
  X(allocate, "cuMemAlloc_v2", (cu::Address*, std::size_t))                                                          \
  X(free, "cuMemFree_v2", (cu::Address))                                                                             \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", (cu::Address, const void*, std::size_t, cu::Stream))                     \
  X(stream_create, "cuStreamCreate", (cu::Stream*, unsigned))                                                        \
  X(stream_synchronize, "cuStreamSynchronize", (cu::Stream))                                                         \
  X(stream_destroy, "cuStreamDestroy_v2", (cu::Stream))                                                              \
  X(stream_context, "cuStreamGetCtx", (cu::Stream, cu::Context*))                                                    \
  X(stream_is_capturing, "cuStreamIsCapturing", (cu::Stream, int*))                                                  \
  X(event_create, "cuEventCreate", (cu::Event*, unsigned))                                                           \
  X(event_record, "cuEventRecord", (cu::Event, cu::Stream))                                                          \
  X(event_synchronize, "cuEventSynchronize", (cu::Event))                                                            \
  X(event_destroy, "cuEventDestroy_v2", (cu::Event))                                                                 \
  X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int*))

struct Driver {
#define PYPTX_DECLARE(field, symbol, arguments) cu::Result(*field) arguments = nullptr;
  PYPTX_DRIVER_FUNCTIONS(PYPTX_DECLARE)
#undef PYPTX_DECLARE
};

// Open the driver, unless it is open; throw DriverMissingError if it fails or libcuda.so.1 is another library.
void open_driver(const std::string& path);

const Driver& driver();

// Throw DriverError unless `result` is success; `doing` describes the failed operation for the message.
void check(cu::Result result, const char* function, const std::string& doing = {});

// Return the primary context of a device, retained until the process ends.
cu::Context primary_context(int device);

int device_attribute(int attribute, int device);

// Make a context current while this object exists, then restore the previously current context.
class ContextScope {
 public:
  explicit ContextScope(cu::Context context) {
    check(driver().context_current(&previous_), "cuCtxGetCurrent");
    if (previous_ != context) change(context);
  }
  // For a launch: a stream of its own determines the context, so any current context may stay. Default streams do not.
  ContextScope(cu::Context context, cu::Stream stream) {
    check(driver().context_current(&previous_), "cuCtxGetCurrent");
    if (previous_ != context && (previous_ == nullptr || cu::is_default(stream))) change(context);
  }
  ~ContextScope() { if (changed_) driver().context_set_current(previous_); }
  ContextScope(const ContextScope&) = delete;

 private:
  void change(cu::Context context) {
    check(driver().context_set_current(context), "cuCtxSetCurrent");
    changed_ = true;
  }

  cu::Context previous_ = nullptr;
  bool changed_ = false;
};

// While this exists, its thread may allocate, copy and load code although a stream of another thread captures.
class RelaxedCapture {
 public:
  RelaxedCapture() { driver().exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { driver().exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;

 private:
  int mode_ = cu::kCaptureModeRelaxed;
};

}  // namespace pyptx
