#include "launcher.h"

#include <structmember.h>

#include <array>
#include <cstddef>

#include "bindings.h"
#include "plan.h"
#include "signature.h"

namespace nb = nanobind;

namespace pyptx {
namespace {

constexpr std::size_t kMaxTensors = 32;  // inputs and outputs of a call; one with more takes the slow path
constexpr std::size_t kMaxScalars = 16;

// One specialisation.
struct Entry {
  std::uint64_t hash;
  std::vector<Signature> inputs, outputs;
  nb::object owner;  // of the plan
  const Plan* plan;
  std::vector<int> scalars;  // for each scalar of the plan, which of the launcher's it is; -1 for none
  bool allocatable;          // frameworks allocate contiguous tensors
};

struct Accepted {
  nb::object type;
  const dl::ExchangeApi* api;
};

struct State {
  nb::object miss, grad_mode;
  std::vector<nb::object> guards, scalars;
  std::vector<Accepted> types;
  nb::object out_name, requires_grad;
  AppendTable<Entry> table;
};

struct LauncherObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  State* state;
};

enum class Outcome { hit, miss, error };

State& state_of(PyObject* self) { return *reinterpret_cast<LauncherObject*>(self)->state; }

// Run what may throw C++ exceptions where Python calls C; what it throws becomes the Python exception.
template <typename Body, typename Result>
Result guarded(Result failed, Body body) noexcept {
  try {
    return body();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Failure& failure) {
    raise(failure);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return failed;
}

// -1 for an exception, else what a callable without arguments thinks.
int truth(const nb::object& callable) {
  PyObject* answer = PyObject_CallNoArgs(callable.ptr());
  if (answer == nullptr) return -1;
  int truth = answer == Py_False || answer == Py_None ? 0 : PyObject_IsTrue(answer);
  Py_DECREF(answer);
  return truth;
}

// The arguments of one call, and what becomes of them.
class Call {
 public:
  Call(State& state, PyObject* const* arguments, std::size_t count, PyObject* names)
      : state_(state), arguments_(arguments), count_(count), names_(names) {}

  ~Call() {
    for (std::size_t i = 0; i < made_count_; ++i) Py_XDECREF(made_[i]);
  }

  // Look, find, allocate and launch; a hit leaves its result in `result`.
  Outcome run(PyObject*& result) {
    for (auto step : {&Call::read_keywords, &Call::ask_guards, &Call::read_inputs, &Call::ask_gradients, &Call::find,
                      &Call::read_out, &Call::allocate, &Call::launch})
      if (Outcome outcome = (this->*step)(); outcome != Outcome::hit) return outcome;
    return answer(result);
  }

 private:
  Outcome read_keywords() {
    if (count_ == 0 || count_ > kMaxTensors) return Outcome::miss;
    Py_ssize_t named = names_ == nullptr ? 0 : PyTuple_Size(names_);
    for (Py_ssize_t i = 0; i < named; ++i) {
      PyObject* name = PyTuple_GetItem(names_, i);
      PyObject* value = arguments_[count_ + i];
      if (same_name(name, state_.out_name)) {
        out_ = value == Py_None ? nullptr : value;
        continue;
      }
      std::size_t at = 0;
      while (at < state_.scalars.size() && !same_name(name, state_.scalars[at])) ++at;
      if (at == state_.scalars.size()) return Outcome::miss;
      given_[at] = value;
    }
    return Outcome::hit;
  }

  static bool same_name(PyObject* name, const nb::object& wanted) {
    return name == wanted.ptr() || PyUnicode_Compare(name, wanted.ptr()) == 0;  // names are interned, nearly always
  }

  Outcome ask_guards() {
    for (const nb::object& guard : state_.guards)
      if (int answer = truth(guard); answer != 0) return answer < 0 ? Outcome::error : Outcome::miss;
    return Outcome::hit;
  }

  Outcome read(PyObject* object, dl::Tensor& to) {
    std::size_t at = 0;
    while (at < state_.types.size() && reinterpret_cast<PyObject*>(Py_TYPE(object)) != state_.types[at].type.ptr()) ++at;
    if (at == state_.types.size()) return Outcome::miss;
    const dl::ExchangeApi* api = state_.types[at].api;
    if (api_ == nullptr) api_ = api;
    if (api->tensor_from_object(object, &to) == 0) return Outcome::hit;
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return Outcome::error;
    PyErr_Clear();  // sparse, on no device, …: whoever answers misses says so better than an exporter
    return Outcome::miss;
  }

  Outcome read_inputs() {
    for (std::size_t i = 0; i < count_; ++i)
      if (Outcome outcome = read(arguments_[i], tensors_[i]); outcome != Outcome::hit) return outcome;
    return Outcome::hit;
  }

  Outcome ask_gradients() {
    if (!state_.grad_mode.is_valid()) return Outcome::hit;
    if (int on = truth(state_.grad_mode); on <= 0) return on < 0 ? Outcome::error : Outcome::hit;
    for (std::size_t i = 0; i < count_; ++i) {
      PyObject* wanted = PyObject_GetAttr(arguments_[i], state_.requires_grad.ptr());
      if (wanted == nullptr) return Outcome::error;
      Py_DECREF(wanted);
      if (wanted != Py_False) return Outcome::miss;
    }
    return Outcome::hit;
  }

  Outcome find() {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < count_; ++i) hash = mix_tensor(hash, tensors_[i]);
    entry_ = state_.table.find(hash, [&](const Entry& entry) {
      if (entry.inputs.size() != count_) return false;
      for (std::size_t i = 0; i < count_; ++i)
        if (!entry.inputs[i].matches(tensors_[i])) return false;
      return true;
    });
    if (entry_ == nullptr || count_ + entry_->outputs.size() > kMaxTensors) return Outcome::miss;
    for (std::size_t i = 0; i < count_; ++i) addresses_[i] = tensors_[i].address();
    return read_scalars();
  }

  Outcome read_scalars() {
    for (std::size_t at = 0; at < state_.scalars.size(); ++at)
      if (given_[at] != nullptr && !takes(static_cast<int>(at))) return Outcome::miss;
    for (std::size_t i = 0; i < entry_->scalars.size(); ++i) {
      int from = entry_->scalars[i];
      if (from < 0) continue;
      if (given_[from] == nullptr) return Outcome::miss;
      const Slot& slot = entry_->plan->slots()[entry_->plan->scalars()[i]];
      if (convert(*slot.type, given_[from], scalars_[i])) continue;
      PyErr_Clear();  // whoever answers misses says what is wrong with it
      return Outcome::miss;
    }
    return Outcome::hit;
  }

  bool takes(int at) const {
    for (int from : entry_->scalars)
      if (from == at) return true;
    return false;
  }

  Outcome read_out() {
    std::size_t wanted = entry_->outputs.size();
    if (out_ == nullptr) return wanted == 0 || entry_->allocatable ? Outcome::hit : Outcome::miss;
    bool tuple = PyTuple_Check(out_);
    if (tuple ? wanted < 2 || PyTuple_Size(out_) != static_cast<Py_ssize_t>(wanted) : wanted != 1) return Outcome::miss;
    for (std::size_t i = 0; i < wanted; ++i) {
      dl::Tensor& tensor = tensors_[count_ + i];
      Outcome outcome = read(tuple ? PyTuple_GetItem(out_, i) : out_, tensor);
      if (outcome != Outcome::hit) return outcome;
      if (!entry_->outputs[i].matches(tensor)) return Outcome::miss;
      addresses_[count_ + i] = tensor.address();
    }
    return Outcome::hit;
  }

  Outcome allocate() {
    for (std::size_t i = 0; out_ == nullptr && i < entry_->outputs.size(); ++i) {
      const Signature& wanted = entry_->outputs[i];
      dl::Tensor prototype{nullptr, wanted.device, static_cast<std::int32_t>(wanted.shape.size()), wanted.dtype,
                           const_cast<std::int64_t*>(wanted.shape.data()), nullptr, 0};
      dl::ManagedTensor* managed = nullptr;
      if (api_->allocate(&prototype, &managed, nullptr, &set_error) != 0) return Outcome::error;
      addresses_[count_ + i] = managed->tensor.address();
      void* object = nullptr;
      if (api_->object_from_managed(managed, &object) != 0) return Outcome::error;  // it took the tensor all the same
      made_[made_count_++] = static_cast<PyObject*>(object);
    }
    return Outcome::hit;
  }

  static void set_error(void*, const char* kind, const char* message) {
    PyGILState_STATE held = PyGILState_Ensure();
    bool memory = std::string_view(kind) == "MemoryError";
    PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, message);
    PyGILState_Release(held);
  }

  Outcome launch() {
    dl::Device device = tensors_[0].device;
    void* stream = nullptr;
    if (api_->current_stream(device.type, device.id, &stream) != 0) return Outcome::error;
    PyThreadState* thread = PyEval_SaveThread();  // a launch waits where the stream's queue is full
    try {
      entry_->plan->launch(addresses_.data(), count_ + entry_->outputs.size(), static_cast<cu::Stream>(stream),
                           device.id, entry_->scalars.empty() ? nullptr : scalars_.data());
    } catch (...) {
      PyEval_RestoreThread(thread);
      throw;
    }
    PyEval_RestoreThread(thread);
    return Outcome::hit;
  }

  Outcome answer(PyObject*& result) {
    if (out_ != nullptr || made_count_ < 2) {
      result = out_ != nullptr ? out_ : made_count_ == 1 ? made_[0] : Py_None;
      Py_INCREF(result);
      return Outcome::hit;
    }
    result = PyTuple_New(static_cast<Py_ssize_t>(made_count_));
    if (result == nullptr) return Outcome::error;
    for (std::size_t i = 0; i < made_count_; ++i) PyTuple_SetItem(result, i, std::exchange(made_[i], nullptr));
    return Outcome::hit;
  }

  State& state_;
  PyObject* const* arguments_;
  std::size_t count_;
  PyObject* names_;
  PyObject* out_ = nullptr;
  std::array<PyObject*, kMaxScalars> given_{};
  const dl::ExchangeApi* api_ = nullptr;  // of the first tensor; it allocates, and knows the stream
  const Entry* entry_ = nullptr;
  std::size_t made_count_ = 0;
  std::array<PyObject*, kMaxTensors> made_;
  std::array<dl::Tensor, kMaxTensors> tensors_;
  std::array<cu::Address, kMaxTensors> addresses_;
  std::array<Scalar, kMaxScalars> scalars_;
};

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  State& state = state_of(self);
  PyObject* result = nullptr;
  Outcome outcome = guarded(Outcome::error, [&] {
    return Call(state, arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flags)), names).run(result);
  });
  if (outcome == Outcome::miss) return PyObject_Vectorcall(state.miss.ptr(), arguments, flags, names);
  return result;
}

const dl::ExchangeApi* api_of(nb::handle type) {
  std::string name = nb::cast<std::string>(nb::str(type));
  if (!nb::hasattr(type, "__dlpack_c_exchange_api__"))
    throw nb::type_error((name + " has no DLPack exchange API (__dlpack_c_exchange_api__)").c_str());
  nb::object capsule = type.attr("__dlpack_c_exchange_api__");
  auto api = static_cast<const dl::ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), dl::kCapsuleName));
  if (api == nullptr) throw nb::python_error();
  while (api != nullptr && api->version.major != dl::kMajorVersion) api = api->previous;
  if (api == nullptr || api->tensor_from_object == nullptr)
    throw nb::type_error((name + " has no DLPack exchange API of version 1 that shows tensors").c_str());
  return api;
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"miss", "types", "guards", "grad_mode", "scalars", nullptr};
  PyObject *miss, *types, *guards = nullptr, *grad_mode = Py_None, *scalars = nullptr;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$OOOO", const_cast<char**>(names), &miss, &types, &guards,
                                  &grad_mode, &scalars) == 0)
    return nullptr;
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    auto state = std::make_unique<State>();
    state->miss = nb::borrow(miss);
    if (grad_mode != Py_None) state->grad_mode = nb::borrow(grad_mode);
    for (nb::handle each : nb::tuple(nb::handle(types))) state->types.push_back({nb::borrow(each), api_of(each)});
    if (guards != nullptr)
      for (nb::handle each : nb::tuple(nb::handle(guards))) state->guards.push_back(nb::borrow(each));
    if (scalars != nullptr)
      for (nb::handle each : nb::tuple(nb::handle(scalars)))
        state->scalars.push_back(nb::steal(PyUnicode_InternFromString(nb::cast<const char*>(each))));
    if (state->scalars.size() > kMaxScalars)
      throw Failure("LaunchError", "a launcher takes at most " + std::to_string(kMaxScalars) + " scalars");
    state->out_name = nb::steal(PyUnicode_InternFromString("out"));
    state->requires_grad = nb::steal(PyUnicode_InternFromString("requires_grad"));
    auto self = reinterpret_cast<LauncherObject*>(PyType_GenericAlloc(type, 0));
    if (self == nullptr) throw nb::python_error();
    self->vectorcall = &vectorcall;
    self->state = state.release();
    return reinterpret_cast<PyObject*>(self);
  });
}

std::unique_ptr<Entry> make_entry(const State& state, nb::handle plan, nb::handle inputs, nb::handle outputs) {
  auto entry = std::make_unique<Entry>();
  entry->owner = nb::borrow(plan);
  entry->plan = &nb::cast<const Plan&>(plan);
  entry->allocatable = true;
  for (nb::handle row : nb::tuple(inputs)) {
    entry->inputs.emplace_back(row);
    entry->hash = mix_signature(entry->inputs.size() == 1 ? 0 : entry->hash, entry->inputs.back());
  }
  for (nb::handle row : nb::tuple(outputs)) {
    entry->outputs.emplace_back(row);
    entry->allocatable = entry->allocatable && entry->outputs.back().contiguous;
  }
  if (entry->inputs.empty())
    throw Failure("LaunchError", entry->plan->entry() + ": a call without tensors does not say where it runs");
  if (entry->inputs.size() + entry->outputs.size() < entry->plan->pointers())
    throw Failure("LaunchError", entry->plan->entry() + ": the plan takes the addresses of " +
                                     std::to_string(entry->plan->pointers()) + " tensors");
  for (unsigned at : entry->plan->scalars()) {
    const Slot& slot = entry->plan->slots()[at];
    int from = static_cast<int>(state.scalars.size()) - 1;
    while (from >= 0 && nb::cast<std::string>(state.scalars[from]) != slot.name) --from;
    if (from < 0 && !slot.value.given)
      throw Failure("LaunchError", entry->plan->entry() + ": scalar " + slot.name + " has no value, and is no keyword");
    entry->scalars.push_back(from);
  }
  if (entry->scalars.size() > kMaxScalars)
    throw Failure("LaunchError", entry->plan->entry() + ": a launcher's plan takes at most " +
                                     std::to_string(kMaxScalars) + " scalars");
  return entry;
}

PyObject* add(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"plan", "inputs", "outputs", nullptr};
  PyObject *plan, *inputs, *outputs;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO", const_cast<char**>(names), &plan, &inputs, &outputs) == 0)
    return nullptr;
  return guarded(static_cast<PyObject*>(nullptr), [&]() -> PyObject* {
    State& state = state_of(self);
    auto made = make_entry(state, plan, inputs, outputs);
    auto same = [&](const Entry& other) { return other.inputs == made->inputs; };
    state.table.add(made->hash, same, [&] { return std::move(made); });
    Py_RETURN_NONE;
  });
}

PyObject* length(PyObject* self, void*) { return PyLong_FromSize_t(state_of(self).table.size()); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  State* state = reinterpret_cast<LauncherObject*>(self)->state;
  if (state == nullptr) return 0;
  Py_VISIT(state->miss.ptr());
  Py_VISIT(state->grad_mode.ptr());
  for (const nb::object& guard : state->guards) Py_VISIT(guard.ptr());
  for (const Accepted& accepted : state->types) Py_VISIT(accepted.type.ptr());
  return 0;
}

PyObject* collected(PyObject*, PyObject* const*, std::size_t, PyObject*) {
  PyErr_SetString(PyExc_RuntimeError, "this launcher was garbage, and is being collected");
  return nullptr;
}

int clear(PyObject* self) {
  auto launcher = reinterpret_cast<LauncherObject*>(self);
  launcher->vectorcall = &collected;
  delete std::exchange(launcher->state, nullptr);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"add", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&add)), METH_VARARGS | METH_KEYWORDS,
     "Launch `plan` from now on for tensors that look like `inputs`, with outputs that look like `outputs`."},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(LauncherObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"specializations", &length, nullptr, "How many plans were added.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&make)},
                       {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"pyptx_launch._shim.Launcher", sizeof(LauncherObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

void bind_launcher(nb::module_& shim) {
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  shim.attr("Launcher") = type;
}

}  // namespace pyptx
