#include "driver.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "failure.h"

namespace pyptx {
namespace {

constexpr int kMaxDevices = 64;

std::mutex opening;
std::atomic<const Driver*> opened{nullptr};

Failure driver_failure(const Driver& driver, const char* kind, cu::Result result, const std::string& what) {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (driver.error_name(result, &name) != cu::kSuccess || name == nullptr) name = "CUDA_ERROR_UNKNOWN";
  if (driver.error_string(result, &meaning) != cu::kSuccess || meaning == nullptr) meaning = "unknown to this driver";
  Failure failure(kind, what + " failed with " + name + " (" + std::to_string(result) + "): " + meaning);
  failure.name = name;
  failure.code = result;
  failure.meaning = meaning;
  return failure;
}

void load_symbols(void* library, const char* path, Driver& driver) {
#define PYPTX_LOAD(field, symbol, arguments)                                                             \
  driver.field = reinterpret_cast<cu::Result(*) arguments>(dlsym(library, symbol));                      \
  if (driver.field == nullptr)                                                                           \
    throw Failure("DriverMissingError", std::string(path) + " has no " symbol ": it is older than CUDA 12.0");
  PYPTX_DRIVER_FUNCTIONS(PYPTX_LOAD)
#undef PYPTX_LOAD
  driver.kernel_parameter =
      reinterpret_cast<decltype(driver.kernel_parameter)>(dlsym(library, "cuKernelGetParamInfo"));
}

const Driver* open_driver() {
  const char* named = std::getenv("PYPTX_LIBCUDA");
  const char* path = named != nullptr && *named != '\0' ? named : "libcuda.so.1";
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Failure("DriverMissingError", std::string("no CUDA driver: ") + dlerror());
  static Driver loaded;  // the library is never closed: contexts of frameworks live in it
  load_symbols(library, path, loaded);
  cu::Result result = loaded.init(0);
  if (result != cu::kSuccess) throw driver_failure(loaded, "DriverMissingError", result, "cuInit");
  return &loaded;
}

}  // namespace

const Driver& driver() {
  if (const Driver* found = opened.load(std::memory_order_acquire)) return *found;
  std::lock_guard lock(opening);
  if (opened.load(std::memory_order_relaxed) == nullptr) opened.store(open_driver(), std::memory_order_release);
  return *opened.load(std::memory_order_relaxed);
}

void check(cu::Result result, const char* function, const std::string& doing) {
  if (result == cu::kSuccess) return;
  throw driver_failure(driver(), "DriverError", result, doing.empty() ? function : doing + ": " + function);
}

cu::Context primary_context(int device) {
  static std::array<std::atomic<cu::Context>, kMaxDevices> contexts{};
  static std::mutex retaining;
  int count = 0;
  if (device >= 0 && device < kMaxDevices) {
    if (cu::Context found = contexts[device].load(std::memory_order_acquire)) return found;
    check(driver().device_count(&count), "cuDeviceGetCount");
  }
  if (device < 0 || device >= count)
    throw Failure("LaunchError", "there is no CUDA device " + std::to_string(device) + "; the driver sees " +
                                     std::to_string(count));
  std::lock_guard lock(retaining);
  cu::Context context = contexts[device].load(std::memory_order_relaxed);
  if (context == nullptr) {
    check(driver().primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    contexts[device].store(context, std::memory_order_release);
  }
  return context;
}

int device_attribute(cu::DeviceAttribute attribute, int device) {
  int value = 0;
  check(driver().device_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

ContextScope::ContextScope(cu::Context context) {
  check(driver().context_current(&previous_), "cuCtxGetCurrent");
  if (previous_ == context) return;
  check(driver().context_set_current(context), "cuCtxSetCurrent");
  changed_ = true;
}

ContextScope::~ContextScope() {
  if (changed_) driver().context_set_current(previous_);
}

RelaxedCapture::RelaxedCapture() {
  check(driver().exchange_capture_mode(&mode_), "cuThreadExchangeStreamCaptureMode");
}

RelaxedCapture::~RelaxedCapture() { driver().exchange_capture_mode(&mode_); }

}  // namespace pyptx
