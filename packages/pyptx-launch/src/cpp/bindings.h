// What the files with Python in them share.
#pragma once

#include <nanobind/nanobind.h>

#include "failure.h"

namespace pyptx {

// Set the Python exception of a failure; needs the interpreter's lock.
void raise(const Failure& failure) noexcept;

// Add the handlers of XLA's foreign functions (xla.cpp).
void bind_xla(nanobind::module_& shim);

}  // namespace pyptx
