#include <algorithm>
#include <cmath>
#include <cstring>

#include "plan.h"

namespace pyptx {
namespace {

// Encode a number as a 16-bit float with `fraction` fraction bits; infinity if the number is too large.
std::uint16_t narrow(double value, int fraction) {
  int least = 2 - (1 << (14 - fraction));  // the exponent of the smallest normal number
  unsigned sign = std::signbit(value) ? 0x8000 : 0, infinity = 0x7FFF >> fraction << fraction;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7FFF);
  int exponent = value == 0 || std::isinf(value) ? least : std::max(std::ilogb(value), least);
  double units = std::nearbyint(std::ldexp(std::fabs(value), fraction - exponent));  // ties to even
  double encoded = std::ldexp(exponent - least, fraction) + units;  // a carry increments the exponent
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(std::min(encoded, double(infinity))));
}

// Write a number as a float; return false if a finite number became infinite.
bool put_float(ScalarType type, double number, unsigned char* to) {
  auto single = static_cast<float>(number);
  int fraction = type.kind == ScalarKind::is_bfloat ? 7 : 10;
  std::uint16_t half = type.bytes == 2 ? narrow(number, fraction) : 0;
  const void* forms[] = {&half, &single, nullptr, &number};
  std::memcpy(to, forms[type.bytes / 2 - 1], type.bytes);
  if (type.bytes == 2) return ((half & 0x7FFF) == 0x7FFF >> fraction << fraction) == std::isinf(number);
  return type.bytes == 8 || std::isinf(single) == std::isinf(number);
}

// Write an int; return whether it fits the type: shifting out the bits above the type's width does not change it.
bool put_integer(ScalarType type, PyObject* integer, unsigned char* to) {
  int overflow = 0, spare = 64 - 8 * type.bytes;
  long long number = PyLong_AsLongLongAndOverflow(integer, &overflow);
  unsigned long long bits = PyLong_AsUnsignedLongLongMask(integer);
  std::memcpy(to, &bits, type.bytes);
  bool as_signed = overflow == 0 && static_cast<long long>(bits << spare) >> spare == number;
  bool as_unsigned = overflow == 0 && number >= 0 && bits << spare >> spare == bits;
  if (overflow > 0 && spare == 0) {  // an int from 2^63 on
    as_unsigned = PyLong_AsUnsignedLongLong(integer) == bits && PyErr_Occurred() == nullptr;
    PyErr_Clear();
  }
  if (type.kind == ScalarKind::bits) return as_signed || as_unsigned;
  return type.kind == ScalarKind::is_signed ? as_signed : as_unsigned;
}

}  // namespace

bool convert(ScalarType type, PyObject* value, Scalar& to) {
  if (type.kind >= ScalarKind::is_float) {
    double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred() != nullptr) return false;
    to.given = put_float(type, number, to.bytes);
  } else {
    PyObject* integer = PyNumber_Index(value);
    if (integer == nullptr) return false;
    to.given = put_integer(type, integer, to.bytes);
    Py_DECREF(integer);
  }
  static constexpr const char* kNames[] = {"b", "u", "s", "f", "bf"};
  if (to.given) return true;
  PyErr_Format(PyExc_OverflowError, "%R does not fit %s%d", value, kNames[int(type.kind)], 8 * type.bytes);
  return false;
}

}  // namespace pyptx
