// What the files with Python in them share.
#pragma once

#include <nanobind/nanobind.h>

#include "driver.h"

namespace pyptx {

// Set the Python exception of a failure; needs the interpreter's lock.
void raise(const Failure& failure) noexcept;

void bind_launcher(nanobind::module_& shim);  // the eager fast path (launcher.cpp)
void bind_xla(nanobind::module_& shim);       // the handlers of XLA's foreign functions (xla.cpp)

}  // namespace pyptx
