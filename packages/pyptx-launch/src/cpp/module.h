// Loaded code: a cubin, a fatbin, or PTX that the driver compiles.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "driver_types.h"

namespace pyptx {

class Module {
 public:
  // Throws LaunchError for an image that is cut short, CompileError where the driver's compiler refuses it.
  explicit Module(const std::string& image);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  cu::Kernel kernel(const std::string& entry) const;

  // Return the entry as a function of the current context, loading the code there if need be.
  cu::Function function(const std::string& entry) const;

  int attribute(cu::FunctionAttribute attribute, const std::string& entry, int device) const;

  // Return offset and size of every parameter; empty where the driver is too old to tell.
  struct Parameter {
    std::size_t offset, size;
  };
  std::vector<Parameter> parameters(const std::string& entry) const;

 private:
  void check(cu::Result result, const char* function, const std::string& doing) const;

  static constexpr std::size_t kLogBytes = 16384;
  using Log = std::array<char, kLogBytes>;

  bool compiled_ = false;             // the driver compiles the image: it may write the logs as late as at first use
  std::unique_ptr<Log> errors_, information_;
  std::array<void*, 4> option_values_{};  // of the compiler; it writes the lengths of the logs into them
  cu::Library library_ = nullptr;
};

}  // namespace pyptx
