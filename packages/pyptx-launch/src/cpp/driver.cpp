#include "driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

namespace pyptx {
namespace {

constexpr int kMaxDevices = 64;

Failure failure_of(const Driver& driver, const char* kind, cu::Result result, const std::string& what) {
  const char *name = nullptr, *meaning = nullptr;
  if (driver.error_name(result, &name) != cu::kSuccess || name == nullptr) name = "CUDA_ERROR_UNKNOWN";
  if (driver.error_string(result, &meaning) != cu::kSuccess || meaning == nullptr) meaning = "unknown to this driver";
  Failure failure(kind, what + " failed with " + name + " (" + std::to_string(result) + "): " + meaning);
  failure.name = name;
  failure.meaning = meaning;
  failure.code = result;
  return failure;
}

std::atomic<const Driver*> opened{nullptr};

// cuda-python opens the driver by the name libcuda.so.1; a process must not use two drivers.
void require_the_only_driver(void* library, const std::string& path) {
  void* named = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (named != nullptr) dlclose(named);  // drops only this reference: the library stays loaded
  if (named == library) return;
  const char* why = named == nullptr ? " is a driver whose soname is not libcuda.so.1: cuda-python would open another"
                                     : " is not the libcuda.so.1 that this process has loaded and cuda-python uses";
  throw Failure("DriverMissingError", path + why + "\nhelp: set PYPTX_LIBCUDA to a library whose soname is "
                                             "libcuda.so.1, before the process loads a driver");
}

}  // namespace

void open_driver(const std::string& path) {
  static Driver loaded;  // the library is never closed, because frameworks have contexts in it
  static std::mutex opening;
  std::lock_guard lock(opening);
  if (opened != nullptr) return;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Failure("DriverMissingError", std::string("no CUDA driver: ") + dlerror());
#define PYPTX_LOAD(field, symbol, arguments)                                        \
  loaded.field = reinterpret_cast<cu::Result(*) arguments>(dlsym(library, symbol)); \
  if (loaded.field == nullptr) throw Failure("DriverMissingError", path + " has no " symbol ": it predates CUDA 12.0");
  PYPTX_DRIVER_FUNCTIONS(PYPTX_LOAD)
#undef PYPTX_LOAD
  require_the_only_driver(library, path);
  cu::Result result = loaded.init(0);
  if (result != cu::kSuccess) throw failure_of(loaded, "DriverMissingError", result, "cuInit");
  opened = &loaded;
}

const Driver& driver() {
  const Driver* found = opened.load(std::memory_order_acquire);
  if (found == nullptr) throw Failure("DriverMissingError", "the CUDA driver is not open");
  return *found;
}

void check(cu::Result result, const char* function, const std::string& doing) {
  if (result == cu::kSuccess) return;
  throw failure_of(driver(), "DriverError", result, doing.empty() ? function : doing + ": " + function);
}

cu::Context primary_context(int device) {
  static std::array<std::atomic<cu::Context>, kMaxDevices> contexts{};
  int count = 0;
  check(driver().device_count(&count), "cuDeviceGetCount");
  if (device < 0 || device >= std::min(count, kMaxDevices))
    throw Failure("LaunchError", "invalid CUDA device " + std::to_string(device) + ": number of devices is " +
                                     std::to_string(count));
  cu::Context context = contexts[device];
  if (context == nullptr) check(driver().primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
  contexts[device] = context;  // two threads may both retain it, which is harmless: it is never released
  return context;
}

int device_attribute(int attribute, int device) {
  int value = 0;
  check(driver().device_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

}  // namespace pyptx
