// The eager fast path: a Python callable that selects a launch plan by the properties of the tensors of a call.
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
  PyObject* references;  // owns all Python objects that the state points to
  State* state;
};

// Return the launcher's state, or null and set a Python exception.
State* alive(PyObject* self) {
  auto launcher = reinterpret_cast<LauncherObject*>(self);
  if (launcher->references == nullptr) PyErr_SetString(PyExc_RuntimeError, "the launcher is being garbage-collected");
  return launcher->references == nullptr ? nullptr : launcher->state;
}

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  State* state = alive(self);
  return state == nullptr ? nullptr : answer(*state, arguments, flags, names);
}

// tp_call, for `launcher(*tensors, **keywords)`: avoids the tuple of names that PyVectorcall_Call would create.
PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  State* state = alive(self);
  return state == nullptr ? nullptr : answer(*state, arguments, keywords);
}

const dl::ExchangeApi* api_of(nb::handle type) {
  nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  auto api = static_cast<const dl::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  PyErr_Clear();
  while (api != nullptr && api->version.major != 1) api = api->previous;
  if (api == nullptr || api->tensor_from_object == nullptr)
    throw nb::type_error((nb::repr(type).c_str() + std::string(" has no DLPack exchange API of version 1")).c_str());
  return api;
}

using GuardRow = std::pair<std::uintptr_t, std::uint16_t>;
using NativeRow = std::tuple<std::size_t, std::vector<GuardRow>, std::vector<std::uintptr_t>,
                             std::array<std::uintptr_t, 8>>;  // fields of `Native` in launchers.py

std::unique_ptr<const Native> native_of(const NativeRow& row) {
  const auto& [offset, guards, tensor_guards, others] = row;
  auto native = std::make_unique<Native>();
  native->offset = offset;
  for (auto [address, argument] : guards) native->guards.emplace_back(reinterpret_cast<Native::Asked>(address), argument);
  for (auto address : tensor_guards) native->tensor_guards.push_back(reinterpret_cast<Native::OfHandle>(address));
  auto set = [next = others.begin()](auto&... functions) mutable {
    ((functions = reinterpret_cast<std::decay_t<decltype(functions)>>(*next++)), ...);
  };
  set(native->grad_mode, native->requires_grad, native->is_inference, native->bump_version, native->storage_size,
      native->empty, native->wrap, native->drop);
  return native;
}

// `references`: miss, grad_mode, "out", "requires_grad", empty_like, count_writes, name of the device, place, types,
// guards, tensor_guards, variables, positions, names of scalars and of fixed keywords.
nb::object make(nb::handle cls, nb::tuple references, const std::optional<NativeRow>& native) {
  auto state = std::make_unique<State>();
  auto at = [&](int number) { return nb::handle(references[number]); };
  state->miss = at(0).ptr(), state->grad_mode = at(1).ptr();
  state->out = at(2).ptr(), state->requires_grad = at(3).ptr();
  state->empty_like = at(4).ptr(), state->count_writes = at(5).ptr();
  state->device = at(6).ptr(), state->place = at(7).ptr();
  for (nb::handle type : at(8)) state->types.push_back({reinterpret_cast<PyTypeObject*>(type.ptr()), api_of(type)});
  for (nb::handle guard : at(9)) state->guards.push_back(guard.ptr());
  for (nb::handle guard : at(10)) state->tensor_guards.push_back(guard.ptr());
  for (nb::handle row : at(11)) state->variables.push_back({row[0].ptr(), row[1].ptr(), row[2].ptr()});
  state->positions = nb::cast<std::vector<std::pair<std::size_t, std::size_t>>>(at(12));
  state->scalars = nb::len(at(13));
  for (int names : {13, 14}) for (nb::handle name : at(names)) state->keywords.push_back(name.ptr());
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
         const std::vector<std::uint64_t>& sizes, const std::vector<Like>& like,
         const std::vector<std::size_t>& mutated, const std::vector<int>& scalars,
         const std::vector<nb::object>& fixed) {
  const Plan* plan = &nb::cast<const Plan&>(owner);
  state_of(self).entries.add(std::make_shared<const Entry>(
      Entry{words, fixed, outputs, alignments, sizes, like, mutated, scalars, std::move(owner), plan}));
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

}  // namespace

void bind_launcher(nb::module_& shim) {
  shim.attr("MAX_TENSORS") = kMaxTensors;
  shim.def("make_launcher", &make, "cls"_a, "references"_a, "native"_a.none(),
           nb::sig("def make_launcher(cls: type, references: tuple[object, ...], native: tuple[int, "
                   "collections.abc.Sequence[tuple[int, int]], collections.abc.Sequence[int], tuple[int, ...]] "
                   "| None) -> object"));
  shim.def("add_plan", &add, "launcher"_a, "plan"_a, "words"_a, "outputs"_a, "alignments"_a, "sizes"_a, "like"_a,
           "mutated"_a, "scalars"_a, "fixed"_a,
           nb::sig("def add_plan(launcher: object, plan: Plan, words: collections.abc.Sequence[int], outputs: "
                   "collections.abc.Sequence[collections.abc.Sequence[int]], alignments: collections.abc.Sequence[int], "
                   "sizes: collections.abc.Sequence[int], like: tuple[tuple[object, ...], ...], mutated: "
                   "collections.abc.Sequence[int], scalars: collections.abc.Sequence[int], fixed: tuple[object, ...]) "
                   "-> None"));
  shim.def("forget_plans", [](nb::handle launcher) { state_of(launcher).entries.clear(); }, "launcher"_a,
           nb::sig("def forget_plans(launcher: object) -> None"));
  shim.def("launcher_type", [] { return nb::steal(PyType_FromSpec(&spec)); }, nb::sig("def launcher_type() -> type"));
}

}  // namespace pyptx
