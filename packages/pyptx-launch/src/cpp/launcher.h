// The eager fast path: a callable that knows specialisations by what their tensors look like.
#pragma once

#include <nanobind/nanobind.h>

namespace pyptx {

// Add the type Launcher.
void bind_launcher(nanobind::module_& shim);

}  // namespace pyptx
