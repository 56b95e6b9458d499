#include "scalars.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "failure.h"

namespace pyptx {
namespace {

using K = ScalarKind;

constexpr ScalarType kTypes[] = {
    {"b8", K::bits, 1},        {"b16", K::bits, 2},        {"b32", K::bits, 4},        {"b64", K::bits, 8},
    {"u8", K::is_unsigned, 1}, {"u16", K::is_unsigned, 2}, {"u32", K::is_unsigned, 4}, {"u64", K::is_unsigned, 8},
    {"s8", K::is_signed, 1},   {"s16", K::is_signed, 2},   {"s32", K::is_signed, 4},   {"s64", K::is_signed, 8},
    {"f16", K::is_float, 2},   {"f32", K::is_float, 4},    {"f64", K::is_float, 8},    {"bf16", K::is_bfloat, 2},
};

bool overflow(const ScalarType& type, PyObject* value) {
  PyErr_Format(PyExc_OverflowError, "%R does not fit %s", value, type.name);
  return false;
}

// Encode in a format of 16 bits with so many of them for the fraction; infinity where it is too large.
std::uint16_t narrow(double value, int fraction_bits) {
  int exponent_bits = 15 - fraction_bits, bias = (1 << (exponent_bits - 1)) - 1, least = 1 - bias;
  std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  std::uint16_t infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  value = std::fabs(value);
  if (std::isnan(value)) return sign | infinity | static_cast<std::uint16_t>(1 << (fraction_bits - 1));
  if (std::isinf(value)) return sign | infinity;
  int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  double units = std::nearbyint(std::ldexp(value, fraction_bits - exponent));  // ties to even
  double encoded = std::ldexp(exponent - least, fraction_bits) + units;        // a carry moves the exponent up by itself
  return sign | (encoded >= infinity ? infinity : static_cast<std::uint16_t>(encoded));
}

bool convert_float(const ScalarType& type, PyObject* value, unsigned char* to) {
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) return false;
  if (type.bytes == 8) {
    std::memcpy(to, &number, 8);
    return true;
  }
  if (type.bytes == 4) {
    auto single = static_cast<float>(number);
    if (std::isinf(single) && !std::isinf(number)) return overflow(type, value);
    std::memcpy(to, &single, 4);
    return true;
  }
  std::uint16_t infinity = type.kind == K::is_bfloat ? 0x7F80 : 0x7C00;
  std::uint16_t half = narrow(number, type.kind == K::is_bfloat ? 7 : 10);
  if ((half & 0x7FFF) == infinity && !std::isinf(number)) return overflow(type, value);
  std::memcpy(to, &half, 2);
  return true;
}

bool convert_integer(const ScalarType& type, PyObject* value, unsigned char* to) {
  PyObject* integer = PyNumber_Index(value);
  if (integer == nullptr) return false;
  int overflowed = 0;
  long long number = PyLong_AsLongLongAndOverflow(integer, &overflowed);
  auto bits = static_cast<std::uint64_t>(number);
  if (overflowed > 0) {  // from 2^63 up
    bits = PyLong_AsUnsignedLongLong(integer);
    if (PyErr_Occurred() != nullptr) PyErr_Clear(); else if (type.kind != K::is_signed && type.bytes == 8) overflowed = 0;
  } else if (overflowed == 0) {
    int width = 8 * type.bytes;
    bool above = type.kind == K::is_signed ? width < 64 && number > (1LL << (width - 1)) - 1
                                           : width < 64 && number > 0 && bits >> width != 0;
    bool below = type.kind == K::is_unsigned ? number < 0 : width < 64 && number < -(1LL << (width - 1));
    overflowed = above || below;
  }
  bool fits = overflowed == 0 || overflow(type, value);
  Py_DECREF(integer);
  std::memcpy(to, &bits, type.bytes);
  return fits;
}

}  // namespace

const ScalarType& scalar_type(const std::string& name) {
  for (const ScalarType& type : kTypes)
    if (name == type.name) return type;
  throw Failure("LaunchError", "a kernel's parameter of type " + name + " cannot be passed by value");
}

bool convert(const ScalarType& type, PyObject* value, Scalar& to) {
  bool real = type.kind == K::is_float || type.kind == K::is_bfloat;
  to.given = real ? convert_float(type, value, to.bytes) : convert_integer(type, value, to.bytes);
  return to.given;
}

}  // namespace pyptx
