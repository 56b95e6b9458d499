// The eager fast path: a callable that knows specialisations by what their tensors look like.
#include <dlfcn.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <cstddef>
#include <optional>
#include <string>

#include "launcher.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyptx {
namespace {

struct LauncherObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* references;  // all that the state points to
  State* state;
};

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  auto launcher = reinterpret_cast<LauncherObject*>(self);
  if (launcher->references == nullptr) return PyErr_Format(PyExc_RuntimeError, "this launcher is being collected");
  return answer(*launcher->state, arguments, flags, names);
}

// For `launcher(*tensors, **keywords)`: PyVectorcall_Call would make a tuple of the names first.
PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  auto launcher = reinterpret_cast<LauncherObject*>(self);
  if (launcher->references == nullptr) return PyErr_Format(PyExc_RuntimeError, "this launcher is being collected");
  return answer(*launcher->state, arguments, keywords);
}

const dl::ExchangeApi* api_of(nb::handle type) {
  nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  auto api = static_cast<const dl::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  PyErr_Clear();
  while (api != nullptr && api->version.major != 1) api = api->previous;
  if (api == nullptr || api->tensor_from_object == nullptr)
    throw nb::type_error((nb::repr(type).c_str() + std::string(" offers no DLPack exchange API of version 1")).c_str());
  return api;
}

using GuardRow = std::pair<std::uintptr_t, std::uint16_t>;
using NativeRow = std::tuple<std::size_t, std::vector<GuardRow>, std::vector<std::uintptr_t>,
                             std::array<std::uintptr_t, 5>>;  // Native of launchers.py

std::unique_ptr<const Native> native_of(const NativeRow& row) {
  const auto& [offset, guards, tensor_guards, others] = row;
  auto native = std::make_unique<Native>();
  native->offset = offset;
  for (auto [address, argument] : guards) native->guards.emplace_back(reinterpret_cast<Native::Asked>(address), argument);
  for (auto address : tensor_guards) native->tensor_guards.push_back(reinterpret_cast<Native::OfHandle>(address));
  native->grad_mode = reinterpret_cast<Native::Asked>(others[0]);
  native->requires_grad = reinterpret_cast<Native::OfTensor>(others[1]);
  native->is_inference = reinterpret_cast<Native::OfHandle>(others[2]);
  native->bump_version = reinterpret_cast<void (*)(const void* const*)>(others[3]);
  native->storage_size = reinterpret_cast<Native::SizeOf>(others[4]);
  return native;
}

// `references` are miss, grad_mode, "out", "requires_grad", empty_like, count_writes, types, guards, tensor_guards,
// variables and names of scalars.
nb::object make(nb::handle cls, nb::tuple references, const std::optional<NativeRow>& native) {
  auto state = std::make_unique<State>();
  auto at = [&](int number) { return nb::handle(references[number]); };
  state->miss = at(0).ptr(), state->grad_mode = at(1).ptr();
  state->out = at(2).ptr(), state->requires_grad = at(3).ptr();
  state->empty_like = at(4).ptr(), state->count_writes = at(5).ptr();
  for (nb::handle type : at(6)) state->types.push_back({reinterpret_cast<PyTypeObject*>(type.ptr()), api_of(type)});
  for (nb::handle guard : at(7)) state->guards.push_back(guard.ptr());
  for (nb::handle guard : at(8)) state->tensor_guards.push_back(guard.ptr());
  for (nb::handle row : at(9)) state->variables.push_back({row[0].ptr(), row[1].ptr(), row[2].ptr()});
  for (nb::handle name : at(10)) state->scalars.push_back(name.ptr());
  if (native) state->native = native_of(*native);
  nb::object self = nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(cls.ptr()), 0));
  auto launcher = reinterpret_cast<LauncherObject*>(self.ptr());
  launcher->references = references.release().ptr();
  launcher->state = state.release();
  launcher->vectorcall = &vectorcall;
  return self;
}

State& state_of(nb::handle launcher) { return *reinterpret_cast<LauncherObject*>(launcher.ptr())->state; }

void add(nb::handle self, nb::object owner, const std::vector<std::int64_t>& words,
         const std::vector<std::vector<std::int64_t>>& outputs, const std::vector<std::uint64_t>& alignments,
         const std::vector<std::uint64_t>& sizes, nb::tuple like, const std::vector<std::size_t>& mutated,
         const std::vector<int>& scalars) {
  const Plan* plan = &nb::cast<const Plan&>(owner);
  std::vector<nb::object> prototypes;
  for (nb::handle each : like) prototypes.push_back(nb::borrow(each));
  state_of(self).entries.add(std::make_shared<const Entry>(
      Entry{words, outputs, alignments, sizes, std::move(prototypes), mutated, scalars, std::move(owner), plan}));
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<LauncherObject*>(self)->references);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<LauncherObject*>(self)->references);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  delete reinterpret_cast<LauncherObject*>(self)->state;
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
                         {"_references", T_OBJECT_EX, offsetof(LauncherObject, references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"pyptx_launch.Launcher", sizeof(LauncherObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

std::uintptr_t symbol_address(const std::string& library, const std::string& name) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (loaded == nullptr) return 0;
  auto address = reinterpret_cast<std::uintptr_t>(dlsym(loaded, name.c_str()));
  dlclose(loaded);  // which only ends our hold on it
  return address;
}

}  // namespace

void bind_launcher(nb::module_& shim) {
  shim.attr("MAX_TENSORS") = kMaxTensors;
  shim.def("make_launcher", &make, "cls"_a, "references"_a, "native"_a.none(),
           nb::sig("def make_launcher(cls: type, references: tuple[object, ...], native: tuple[int, "
                   "collections.abc.Sequence[tuple[int, int]], collections.abc.Sequence[int], tuple[int, int, int, int, int]] "
                   "| None) -> object"));
  shim.def("symbol_address", &symbol_address, "library"_a, "name"_a,
           "Return the address of a symbol in a library that is loaded, 0 if there is none.");
  shim.def("add_plan", &add, "launcher"_a, "plan"_a, "words"_a, "outputs"_a, "alignments"_a, "sizes"_a, "like"_a,
           "mutated"_a, "scalars"_a,
           nb::sig("def add_plan(launcher: object, plan: Plan, words: collections.abc.Sequence[int], outputs: "
                   "collections.abc.Sequence[collections.abc.Sequence[int]], alignments: collections.abc.Sequence[int], "
                   "sizes: collections.abc.Sequence[int], like: tuple[object, ...], mutated: "
                   "collections.abc.Sequence[int], scalars: collections.abc.Sequence[int]) -> None"));
  shim.def("forget_plans", [](nb::handle launcher) { state_of(launcher).entries.clear(); }, "launcher"_a,
           nb::sig("def forget_plans(launcher: object) -> None"));
  shim.def("launcher_type", [](nb::dict attributes) {
    nb::object type = nb::steal(PyType_FromSpec(&spec));
    if (!type.is_valid()) throw nb::python_error();
    for (auto [name, value] : attributes) nb::setattr(type, name, value);
    return type;
  }, "attributes"_a, nb::sig("def launcher_type(attributes: dict[str, object]) -> type"));
}

}  // namespace pyptx
