// What Python sees of this package's C++. pyptx_launch's modules give it names, types and checks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bindings.h"
#include "launcher.h"
#include "plan.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyptx {
namespace {

using Extents = std::tuple<unsigned, unsigned, unsigned>;

std::vector<nb::tuple> devices() {
  int count = 0;
  check(driver().device_count(&count), "cuDeviceGetCount");
  std::vector<nb::tuple> found;
  for (int device = 0; device < count; ++device) {
    char name[256] = "";
    std::size_t memory = 0;
    check(driver().device_name(name, sizeof name - 1, device), "cuDeviceGetName");
    check(driver().device_memory(&memory, device), "cuDeviceTotalMem");
    auto ask = [&](cu::DeviceAttribute attribute) { return device_attribute(attribute, device); };
    found.push_back(nb::make_tuple(device, name, nb::make_tuple(ask(cu::kCapabilityMajor), ask(cu::kCapabilityMinor)),
                                   ask(cu::kMultiprocessors), ask(cu::kSharedOptin), memory));
  }
  return found;
}

int version() {
  int found = 0;
  check(driver().driver_version(&found), "cuDriverGetVersion");
  return found;
}

void copy(unsigned (&to)[3], const Extents& from) { std::tie(to[0], to[1], to[2]) = from; }

template <typename To, typename From>
void copy(To (&to)[kMaxRank], const std::vector<From>& from, std::size_t count) {
  if (from.size() != count) throw nb::value_error("as many values as the rank asks for");
  std::copy(from.begin(), from.end(), to);
}

// (lower corner, upper corner, channels per pixel, pixels per column)
using Im2colTuple = std::tuple<std::vector<int>, std::vector<int>, unsigned, unsigned>;

void make_map(MapArguments* map, int type, const std::vector<std::uint64_t>& shape,
              const std::vector<std::uint64_t>& strides, const std::vector<unsigned>& box,
              const std::vector<unsigned>& element_strides, int interleave, int swizzle, int promotion, int fill,
              unsigned alignment, const std::optional<Im2colTuple>& im2col) {
  MapArguments made{};
  made.type = type;
  made.rank = static_cast<unsigned>(shape.size());
  if (made.rank == 0 || made.rank > kMaxRank || alignment == 0) throw nb::value_error("rank and alignment");
  copy(made.shape, shape, made.rank);
  copy(made.strides, strides, made.rank - 1);
  copy(made.box, box, im2col ? 0 : made.rank);
  copy(made.element_strides, element_strides, made.rank);
  made.interleave = interleave;
  made.swizzle = swizzle;
  made.promotion = promotion;
  made.fill = fill;
  made.alignment = alignment;
  if (im2col) {
    if (made.rank < 3) throw nb::value_error("rank of im2col");
    made.im2col.emplace();
    copy(made.im2col->lower, std::get<0>(*im2col), made.rank - 2);
    copy(made.im2col->upper, std::get<1>(*im2col), made.rank - 2);
    std::tie(std::ignore, std::ignore, made.im2col->channels, made.im2col->pixels) = *im2col;
  }
  new (map) MapArguments(made);
}

Slot make_slot(nb::handle row) {  // (kind, index, type, name, value, map)
  Slot slot{};
  auto kind = nb::cast<std::string>(row[0]);
  slot.index = nb::cast<unsigned>(row[1]);
  if (kind == "pointer") return slot;
  if (kind == "scalar") {
    slot.kind = SlotKind::scalar;
    slot.type = &scalar_type(nb::cast<std::string>(row[2]));
    slot.name = nb::cast<std::string>(row[3]);
    if (!row[4].is_none() && !convert(*slot.type, nb::object(row[4]).ptr(), slot.value)) throw nb::python_error();
    return slot;
  }
  slot.kind = kind == "map" ? SlotKind::map : SlotKind::map_pointer;
  slot.map = nb::cast<const MapArguments&>(row[5]);
  return slot;
}

void make_plan(Plan* plan, std::shared_ptr<Module> module, std::string entry, const Extents& grid,
               const Extents& block, const Extents& cluster, unsigned shared_bytes, nb::sequence parameters,
               const std::vector<std::pair<int, nb::bytes>>& attributes) {
  Shape shape{{}, {}, {}, shared_bytes};
  copy(shape.grid, grid);
  copy(shape.block, block);
  copy(shape.cluster, cluster);
  std::vector<Slot> slots;
  for (nb::handle row : parameters) slots.push_back(make_slot(row));
  std::vector<cu::LaunchAttribute> made;
  for (const auto& [id, value] : attributes) {
    if (value.size() > cu::kLaunchAttributeBytes)
      throw nb::value_error("the value of a launch attribute has at most 64 bytes");
    made.push_back({id, {}, {}});
    std::memcpy(made.back().value, value.c_str(), value.size());
  }
  new (plan) Plan(std::move(module), std::move(entry), shape, std::move(slots), std::move(made));
}

void put(const Plan& plan, std::vector<Scalar>& values, std::size_t at, nb::handle value) {
  const Slot& slot = plan.slots()[plan.scalars()[at]];
  if (!convert(*slot.type, value.ptr(), values[at])) throw nb::python_error();
}

std::vector<Scalar> scalars_of(const Plan& plan, nb::handle given) {
  std::vector<Scalar> values(plan.scalars().size());
  if (!nb::hasattr(given, "keys")) {
    std::size_t at = 0;
    for (nb::handle value : given) {
      if (at == values.size()) throw Failure("LaunchError", plan.entry() + ": more scalars than it takes");
      put(plan, values, at++, value);
    }
    return values;
  }
  for (nb::handle key : nb::list(given.attr("keys")())) {
    auto name = nb::cast<std::string>(key);
    std::size_t at = 0;
    while (at < values.size() && plan.slots()[plan.scalars()[at]].name != name) ++at;
    if (at == values.size()) throw Failure("LaunchError", plan.entry() + ": it has no scalar named " + name);
    put(plan, values, at, given[key]);
  }
  return values;
}

void launch(const Plan& plan, const std::vector<cu::Address>& pointers, std::uintptr_t stream, int device,
            nb::handle scalars) {
  std::vector<Scalar> values = scalars_of(plan, scalars);
  nb::gil_scoped_release unlocked;  // a launch waits where the stream's queue is full
  plan.launch(pointers.data(), pointers.size(), reinterpret_cast<cu::Stream>(stream), device,
              values.empty() ? nullptr : values.data());
}

std::vector<std::string> scalar_names(const Plan& plan) {
  std::vector<std::string> names;
  for (unsigned at : plan.scalars()) names.push_back(plan.slots()[at].name);
  return names;
}

void bind_driver(nb::module_& shim) {
  shim.def("open_driver", [] { driver(); }, "Open the driver, or raise DriverMissingError.");
  shim.def("driver_version", &version, "Return the newest CUDA that it runs, 1000 * major + 10 * minor.");
  shim.def("devices", &devices, nb::sig("def devices() -> list[tuple[int, str, tuple[int, int], int, int, int]]"),
           "Return ordinal, name, capability, multiprocessors, shared_optin, memory of each.");
}

void bind_module(nb::module_& shim) {
  nb::class_<Module>(shim, "Module")
      .def("__init__",
           [](Module* module, nb::bytes image) {
             std::string bytes(image.c_str(), image.size());
             nb::gil_scoped_release unlocked;  // the driver may compile
             new (module) Module(bytes);
           }, "image"_a)
      .def("attribute",
           [](const Module& module, const std::string& entry, int attribute, int device) {
             return module.attribute(static_cast<cu::FunctionAttribute>(attribute), entry, device);
           }, "entry"_a, "attribute"_a, "device"_a, "Return a CUfunction_attribute of an entry.")
      .def("parameters",
           [](const Module& module, const std::string& entry) {
             std::vector<std::pair<std::size_t, std::size_t>> found;
             for (auto [offset, size] : module.parameters(entry)) found.emplace_back(offset, size);
             return found;
           }, "entry"_a, "Return offset and size of each; nothing before CUDA 12.4.");
}

void bind_map(nb::module_& shim) {
  nb::class_<MapArguments>(shim, "MapArguments")
      .def("__init__", &make_map, "type"_a, "shape"_a, "strides"_a, "box"_a, "element_strides"_a, "interleave"_a,
           "swizzle"_a, "promotion"_a, "fill"_a, "alignment"_a, "im2col"_a.none() = nb::none())
      .def("encode",
           [](const MapArguments& arguments, cu::Address address) {
             cu::TensorMap map = arguments.encode(address);
             return nb::bytes(map.opaque, sizeof map);
           }, "address"_a, "Return the 128 bytes of the map for a tensor at this address.");
}

void bind_plan(nb::module_& shim) {
  nb::class_<Plan>(shim, "Plan")
      .def("__init__", &make_plan, "module"_a, "entry"_a, "grid"_a, "block"_a, "cluster"_a, "shared_bytes"_a,
           "parameters"_a, "attributes"_a,
           nb::sig("def __init__(self, module: Module, entry: str, grid: tuple[int, int, int], "
                   "block: tuple[int, int, int], cluster: tuple[int, int, int], shared_bytes: int, "
                   "parameters: collections.abc.Sequence[tuple[str, int, str, str, int | float | None, "
                   "MapArguments | None]], attributes: collections.abc.Sequence[tuple[int, bytes]]) -> None"))
      .def("launch", &launch, "pointers"_a, "stream"_a, "device"_a, "scalars"_a = nb::tuple(),
           nb::sig("def launch(self, pointers: collections.abc.Sequence[int], stream: int, device: int, "
                   "scalars: collections.abc.Mapping[str, int | float] | "
                   "collections.abc.Sequence[int | float] = ()) -> None"),
           "Launch with the tensors' addresses and the scalars, by name or in order.")
      .def_prop_ro("entry", &Plan::entry, "The name of the entry.")
      .def_prop_ro("pointers", &Plan::pointers, "How many addresses a launch takes.")
      .def_prop_ro("scalars", &scalar_names, "The names of the scalars, in order.")
      .def("pooled_maps", &Plan::pooled_maps, "device"_a, "Return how many tensor maps lie in a device's memory.");
}

}  // namespace

void raise(const Failure& failure) noexcept {
  nb::object errors = nb::steal(PyImport_ImportModule("pyptx_launch.errors"));
  if (!errors.is_valid()) return;
  nb::object made = nb::steal(PyObject_CallMethod(errors.ptr(), "of", "sssiss", failure.kind, failure.message.c_str(),
                                                  failure.name.c_str(), failure.code, failure.meaning.c_str(),
                                                  failure.log.c_str()));
  if (made.is_valid()) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace pyptx

NB_MODULE(_shim, shim) {
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const pyptx::Failure& failure) {
      pyptx::raise(failure);
    }
  });
  pyptx::bind_driver(shim);
  pyptx::bind_module(shim);
  pyptx::bind_map(shim);
  pyptx::bind_plan(shim);
  pyptx::bind_launcher(shim);
#ifdef PYPTX_XLA
  pyptx::bind_xla(shim);
#endif
}
