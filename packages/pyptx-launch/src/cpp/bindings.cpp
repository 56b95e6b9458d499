// Python bindings of this package's C++ code. The Python modules of pyptx_launch check the functions' arguments.
#include "bindings.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "plan.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyptx {
namespace {

using SlotRow = std::tuple<int, unsigned, int, int, nb::object, nb::bytes>;  // `Row` in parameters.py

MapArguments unpack_map(const nb::bytes& packed) {
  MapArguments map;
  if (packed.size() != sizeof map) throw nb::value_error("expected the packed arguments of a tensor map");
  std::memcpy(&map, packed.c_str(), sizeof map);
  return map;
}

nb::bytes encode_map(const nb::bytes& packed, cu::Address address) {
  ContextScope scope(primary_context(0));
  cu::TensorMap map = unpack_map(packed).encode(address);
  return nb::bytes(map.words, sizeof map.words);
}

void put(ScalarType type, nb::handle value, Scalar& to) {
  if (!value.is_none() && !convert(type, value.ptr(), to)) throw nb::python_error();
}

void make_plan(Plan* plan, std::uintptr_t kernel, std::uintptr_t log, std::string entry,
               const std::array<unsigned, 10>& shape, const std::vector<SlotRow>& rows, const nb::bytes& attributes,
               std::shared_ptr<MapPools> pools) {
  std::vector<Slot> slots;
  for (const auto& [kind, index, scalar, bytes, value, map] : rows) {
    slots.push_back({SlotKind(kind), index, {ScalarKind(scalar), std::uint8_t(bytes)}, {}, {}});
    if (map.size() != 0) slots.back().map = unpack_map(map);
    put(slots.back().type, value, slots.back().value);
  }
  std::vector<cu::LaunchAttribute> copied(attributes.size() / sizeof(cu::LaunchAttribute));
  for (std::size_t i = 0; i < copied.size(); ++i)
    std::memcpy(static_cast<void*>(&copied[i]), attributes.c_str() + i * sizeof copied[i], sizeof copied[i]);
  new (plan) Plan(reinterpret_cast<cu::Kernel>(kernel), reinterpret_cast<const char*>(log), std::move(entry), shape,
                  std::move(slots), std::move(copied), std::move(pools));
}

void launch(const Plan& plan, const std::vector<cu::Address>& pointers, std::uintptr_t stream, int device,
            nb::tuple scalars) {
  std::vector<Scalar> values(plan.scalars.size());
  if (scalars.size() > values.size()) throw nb::value_error("more scalars than the entry takes");
  for (std::size_t i = 0; i < scalars.size(); ++i) put(plan.scalars[i]->type, scalars[i], values[i]);
  nb::gil_scoped_release unlocked;  // a launch blocks while the stream's queue is full
  plan.launch(pointers.data(), pointers.size(), reinterpret_cast<cu::Stream>(stream), device, values.data());
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
  using namespace pyptx;
  nb::set_leak_warnings(false);  // plans in use at exit are not freed; the process frees the driver
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try { std::rethrow_exception(error); } catch (const Failure& failure) { raise(failure); }
  });
  shim.def("open_driver", &open_driver, "path"_a);
  shim.def("encode_map", &encode_map, "packed"_a, "address"_a);
  nb::class_<MapPools>(shim, "MapPools").def(nb::init<>());
  nb::class_<Plan>(shim, "Plan")
      .def("__init__", &make_plan, "kernel"_a, "log"_a, "entry"_a, "shape"_a, "slots"_a, "attributes"_a,
           "pools"_a,
           nb::sig("def __init__(self, kernel: int, log: int, entry: str, shape: collections.abc.Sequence[int], slots: "
                   "collections.abc.Sequence[tuple[int, int, int, int, float | None, bytes]], attributes: bytes, pools: MapPools) -> None"))
      .def("launch_in_order", &launch, "pointers"_a, "stream"_a, "device"_a, "scalars"_a,
           nb::sig("def launch_in_order(self, pointers: collections.abc.Sequence[object], stream: int, device: int, "
                   "scalars: tuple[float | None, ...]) -> None"));  // TypeError for a pointer that is not a number
  bind_launcher(shim);
#ifdef PYPTX_XLA
  bind_xla(shim);
#endif
}
