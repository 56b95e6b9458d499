// Values that a kernel takes by value: their types, and how a Python number becomes their bytes.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

namespace pyptx {

enum class ScalarKind : std::uint8_t { bits, is_unsigned, is_signed, is_float, is_bfloat };

struct ScalarType {
  const char* name;
  ScalarKind kind;
  std::uint8_t bytes;
};

// Return the PTX type of this name; throws LaunchError for any other.
const ScalarType& scalar_type(const std::string& name);

struct Scalar {
  bool given = false;
  unsigned char bytes[8];
};

// Write a Python number, little-endian, rounded to nearest for the floating-point types. False, with a Python exception
// set (TypeError, OverflowError), if it is no number or too large for the type.
bool convert(const ScalarType& type, PyObject* value, Scalar& to);

}  // namespace pyptx
