// Declarations shared by the source files that use Python.
#pragma once

#include <nanobind/nanobind.h>

#include "driver.h"

namespace pyptx {

// Set the Python exception for a failure; needs the GIL.
void raise(const Failure& failure) noexcept;

void bind_launcher(nanobind::module_& shim);  // class Launcher, the eager fast path (launcher.cpp)
void bind_xla(nanobind::module_& shim);       // handlers of XLA's custom call (xla.cpp)

}  // namespace pyptx
