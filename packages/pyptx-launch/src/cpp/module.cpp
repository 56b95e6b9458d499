#include "module.h"

#include <algorithm>
#include <cstring>

#include "driver.h"
#include "failure.h"

namespace pyptx {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;

template <typename T>
T read_at(const std::string& image, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= image.size()) std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

// Return how many bytes a binary image says that it has; 0 for text. The driver believes these headers.
std::size_t stated_size(const std::string& image) {
  if (image.compare(0, 4, "\x7f" "ELF") == 0) {  // ELF64: tables of segments and sections, wherever they lie
    auto segments = read_at<std::uint64_t>(image, 32), sections = read_at<std::uint64_t>(image, 40);
    segments += std::uint64_t{read_at<std::uint16_t>(image, 54)} * read_at<std::uint16_t>(image, 56);
    sections += std::uint64_t{read_at<std::uint16_t>(image, 58)} * read_at<std::uint16_t>(image, 60);
    return std::max<std::size_t>({64, segments, sections});
  }
  if (read_at<std::uint32_t>(image, 0) == kFatbinMagic)
    return std::max<std::size_t>(16, read_at<std::uint16_t>(image, 6) + read_at<std::uint64_t>(image, 8));
  return 0;
}

}  // namespace

Module::Module(const std::string& image) {
  if (image.empty()) throw Failure("LaunchError", "an image of no bytes holds no kernel; pass a cubin, a fatbin or PTX");
  std::size_t size = stated_size(image);
  if (size > image.size())
    throw Failure("LaunchError", "the image is cut short: it has " + std::to_string(image.size()) +
                                     " bytes, and its header tells of " + std::to_string(size));
  compiled_ = size == 0;
  int options[] = {cu::kErrorLog, cu::kErrorLogBytes, cu::kInfoLog, cu::kInfoLogBytes};
  if (compiled_) {
    errors_ = std::make_unique<Log>(Log{});
    information_ = std::make_unique<Log>(Log{});
    auto bytes = reinterpret_cast<void*>(kLogBytes - 1);  // the last one stays NUL
    option_values_ = {errors_->data(), bytes, information_->data(), bytes};
  }
  unsigned count = compiled_ ? 4 : 0;
  cu::Result result = driver().library_load(
      &library_, image.c_str(), count ? options : nullptr, count ? option_values_.data() : nullptr, count, nullptr,
      nullptr, 0);
  check(result, "cuLibraryLoadData", "loading an image of " + std::to_string(image.size()) + " bytes");
}

Module::~Module() {
  if (library_ == nullptr) return;
  int mode = cu::kCaptureModeRelaxed;  // a module may die while somebody captures; a driver that is gone does not mind
  driver().exchange_capture_mode(&mode);
  driver().library_unload(library_);
  driver().exchange_capture_mode(&mode);
}

void Module::check(cu::Result result, const char* function, const std::string& doing) const {
  try {
    pyptx::check(result, function, doing);
  } catch (Failure& failure) {
    if (!compiled_ || (*errors_)[0] == '\0') throw;
    failure.kind = "CompileError";
    failure.log = errors_->data();
    if ((*information_)[0] != '\0') failure.log += std::string("\n") + information_->data();
    throw;
  }
}

cu::Kernel Module::kernel(const std::string& entry) const {
  cu::Kernel kernel = nullptr;
  check(driver().library_kernel(&kernel, library_, entry.c_str()), "cuLibraryGetKernel", "looking for entry " + entry);
  return kernel;
}

cu::Function Module::function(const std::string& entry) const {
  cu::Function function = nullptr;
  check(driver().kernel_function(&function, kernel(entry)), "cuKernelGetFunction", "loading entry " + entry);
  return function;
}

int Module::attribute(cu::FunctionAttribute attribute, const std::string& entry, int device) const {
  int value = 0;
  check(driver().kernel_attribute(&value, attribute, kernel(entry), device), "cuKernelGetAttribute",
        "asking for attributes of entry " + entry);
  return value;
}

std::vector<Module::Parameter> Module::parameters(const std::string& entry) const {
  std::vector<Parameter> found;
  if (driver().kernel_parameter == nullptr) return found;
  cu::Kernel kernel = this->kernel(entry);
  for (Parameter next{}; driver().kernel_parameter(kernel, found.size(), &next.offset, &next.size) == cu::kSuccess;)
    found.push_back(next);
  return found;
}

}  // namespace pyptx
