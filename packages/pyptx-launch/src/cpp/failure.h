// What can go wrong, as one C++ exception that knows which class of pyptx_launch.errors it becomes.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace pyptx {

struct Failure : std::exception {
  Failure(const char* kind, std::string message) : kind(kind), message(std::move(message)) {}

  const char* what() const noexcept override { return message.c_str(); }

  const char* kind;     // the name of a class in pyptx_launch.errors
  std::string message;  // what is wrong and why
  std::string name;     // of a driver's error: CUDA_ERROR_…
  int code = 0;
  std::string meaning;  // in the driver's words
  std::string log;      // of the driver's compiler
};

}  // namespace pyptx
