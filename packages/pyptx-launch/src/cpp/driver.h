// The driver library, opened at first need: its functions, its errors, its contexts.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "driver_types.h"

namespace pyptx {

// What can go wrong, as one C++ exception that knows which class of pyptx_launch.errors it becomes.
struct Failure : std::exception {
  Failure(const char* kind, std::string message) : kind(kind), message(std::move(message)) {}
  const char* what() const noexcept override { return message.c_str(); }

  const char* kind;                // the name of the class
  std::string message;             // what is wrong, and why
  std::string name, meaning, log;  // of a driver's error (CUDA_ERROR_…); the log is its compiler's
  int code = 0;
};

// Name here, symbol in the library, arguments. All are in drivers of CUDA 12.0 and later; libcuda.py has the others, of
// which no launch is made.
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

// Open the driver, unless it is open; throws DriverMissingError, also where libcuda.so.1 means another library.
void open_driver(const std::string& path);

const Driver& driver();

// Throw DriverError unless `result` is success; `doing` says what was asked for, in the words of a user.
void check(cu::Result result, const char* function, const std::string& doing = {});

// Return the primary context of a device, retained once and for the life of the process.
cu::Context primary_context(int device);

int device_attribute(int attribute, int device);

// Make a context current for as long as this lives, and then the one that was.
class ContextScope {
 public:
  explicit ContextScope(cu::Context context) {
    check(driver().context_current(&previous_), "cuCtxGetCurrent");
    if (previous_ != context) change(context);
  }
  // For a launch: the context of one of its own streams decides, so any that is current may stay.
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

// Allow this thread what stream capture elsewhere forbids (allocating, copying, loading), for as long as this lives.
class RelaxedCapture {
 public:
  RelaxedCapture() { driver().exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { driver().exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;

 private:
  int mode_ = cu::kCaptureModeRelaxed;
};

}  // namespace pyptx
