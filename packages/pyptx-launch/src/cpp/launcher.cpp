// The eager fast path: a callable that knows specialisations by what their tensors look like.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "bindings.h"
#include "dlpack.h"
#include "plan.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pyptx {
namespace {

// Of one call; one with more of anything is a miss.
constexpr std::size_t kMaxTensors = 32, kMaxOutputs = 8, kMaxScalars = 16, kMaxWords = 512;
constexpr std::size_t kHeadWords = 2;

// Write what a tensor looks like: device; element type and rank; then extent and stride of each dimension, the stride
// of an extent of one being 0. The words of a signature (launchers.py) are the same numbers.
std::size_t describe(const dl::Tensor& tensor, std::int64_t* to) {
  to[0] = std::int64_t{tensor.device.type} << 32 | std::uint32_t(tensor.device.id);
  to[1] = std::int64_t{tensor.rank} << 32 | tensor.dtype.lanes << 16 | tensor.dtype.bits << 8 | tensor.dtype.code;
  std::int64_t contiguous = 1;
  for (std::int32_t i = tensor.rank; i-- > 0; contiguous *= tensor.shape[i]) {
    to[kHeadWords + 2 * i] = tensor.shape[i];
    std::int64_t stride = tensor.strides != nullptr ? tensor.strides[i] : contiguous;
    to[kHeadWords + 2 * i + 1] = tensor.shape[i] == 1 ? 0 : stride;
  }
  return kHeadWords + 2 * static_cast<std::size_t>(tensor.rank);
}

// One specialisation.
struct Entry {
  std::uint64_t hash;
  std::vector<std::int64_t> words;  // of all inputs
  std::vector<std::vector<std::int64_t>> outputs;
  std::vector<std::uint64_t> alignments;  // of inputs, then outputs
  bool allocatable;                       // frameworks allocate contiguous tensors
  std::vector<int> scalars;               // for each of the plan's, which of the launcher's it is; -1 for none
  nb::object owner;                       // of the plan
  const Plan* plan;
  Entry* next = nullptr;
};

struct Accepted { PyTypeObject* type; const dl::ExchangeApi* api; };

struct State {
  PyObject *miss, *grad_mode, *out, *requires_grad;
  std::vector<PyObject*> guards, scalars;
  std::vector<Accepted> types;
  AppendTable<Entry> table;
};

struct LauncherObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* references;  // all that the state points to
  State* state;
};

struct Miss {};

void need(bool hit) {
  if (!hit) throw Miss{};
}

void checked(int status) {
  if (status != 0) throw nb::python_error();
}

bool truth(PyObject* callable) {
  nb::object answer = nb::steal(PyObject_CallNoArgs(callable));
  int truth = answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
  checked(truth < 0);
  return truth != 0;
}

bool same_name(PyObject* name, PyObject* wanted) {
  return name == wanted || PyUnicode_Compare(name, wanted) == 0;  // names are interned, nearly always
}

// One call: its steps throw Miss for what is not for a plan, and python_error or Failure for what is wrong.
class Call {
 public:
  Call(State& state, PyObject* const* inputs, std::size_t count) : state_(state), inputs_(inputs), count_(count) {}

  PyObject* run(PyObject* names) {
    need(count_ > 0 && count_ <= kMaxTensors);
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i)
      read_keyword(PyTuple_GetItem(names, i), inputs_[count_ + i]);
    for (PyObject* guard : state_.guards) need(!truth(guard));
    find();
    if (state_.grad_mode != Py_None && truth(state_.grad_mode)) need_no_gradients();
    read_scalars();
    if (out_ != nullptr) read_out(); else allocate();
    launch();
    if (out_ != nullptr) return nb::borrow(out_).release().ptr();
    if (made_count_ == 0) return nb::none().release().ptr();
    if (made_count_ == 1) return made_[0].release().ptr();
    nb::object several = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(made_count_)));
    for (std::size_t i = 0; i < made_count_; ++i) checked(PyTuple_SetItem(several.ptr(), i, made_[i].release().ptr()));
    return several.release().ptr();
  }

 private:
  void read_keyword(PyObject* name, PyObject* value) {
    if (same_name(name, state_.out)) {
      out_ = value == Py_None ? nullptr : value;
      return;
    }
    std::size_t at = 0;
    while (at < state_.scalars.size() && !same_name(name, state_.scalars[at])) ++at;
    need(at < state_.scalars.size());
    given_[at] = value;
    ++given_count_;
  }

  // Describe a tensor behind `words`, note its address, and return how many words that took.
  std::size_t read(PyObject* object, std::size_t number, std::int64_t* words, std::size_t room) {
    std::size_t at = 0;
    while (at < state_.types.size() && Py_TYPE(object) != state_.types[at].type) ++at;
    need(at < state_.types.size());
    if (number == 0) api_ = state_.types[at].api;
    dl::Tensor tensor;
    if (state_.types[at].api->tensor_from_object(object, &tensor) != 0) {
      checked(PyErr_ExceptionMatches(PyExc_Exception) == 0);
      PyErr_Clear();  // sparse, on no device, …: whoever answers misses says so better than an exporter
      throw Miss{};
    }
    need(kHeadWords + 2 * static_cast<std::size_t>(tensor.rank) <= room);
    if (number == 0) device_ = tensor.device;
    addresses_[number] = tensor.address();
    return describe(tensor, words);
  }

  void find() {
    std::array<std::int64_t, kMaxWords> words;
    std::size_t used = 0;
    for (std::size_t i = 0; i < count_; ++i) used += read(inputs_[i], i, &words[used], kMaxWords - used);
    entry_ = state_.table.find(hash_of(words.data(), used), [&](const Entry& entry) {
      return same(entry.words, words.data(), used) && aligned(entry, 0, count_);
    });
    need(entry_ != nullptr);
  }

  static bool same(const std::vector<std::int64_t>& wanted, const std::int64_t* words, std::size_t count) {
    return wanted.size() == count && std::memcmp(wanted.data(), words, count * sizeof *words) == 0;
  }

  bool aligned(const Entry& entry, std::size_t from, std::size_t to) const {
    while (from < to && addresses_[from] % entry.alignments[from] == 0) ++from;
    return from == to;
  }

  void need_no_gradients() {
    for (std::size_t i = 0; i < count_; ++i) {
      nb::object wanted = nb::steal(PyObject_GetAttr(inputs_[i], state_.requires_grad));
      checked(!wanted.is_valid());
      need(wanted.is(Py_False));
    }
  }

  void read_scalars() {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < entry_->scalars.size(); ++i) {
      if (entry_->scalars[i] < 0) continue;
      PyObject* value = given_[entry_->scalars[i]];
      bool fits = value != nullptr && convert(entry_->plan->scalars[i]->type, value, scalars_[i]);
      PyErr_Clear();  // whoever answers misses says what is wrong with it
      need(fits);
      ++taken;
    }
    need(taken == given_count_);
  }

  void read_out() {
    std::size_t wanted = entry_->outputs.size();
    bool tuple = PyTuple_Check(out_) && wanted > 1;
    need(tuple ? PyTuple_Size(out_) == static_cast<Py_ssize_t>(wanted) : wanted == 1);
    for (std::size_t i = 0; i < wanted; ++i) {
      std::array<std::int64_t, kMaxWords> words;
      std::size_t used = read(tuple ? PyTuple_GetItem(out_, i) : out_, count_ + i, words.data(), kMaxWords);
      need(same(entry_->outputs[i], words.data(), used));
    }
    need(aligned(*entry_, count_, count_ + wanted));
  }

  void allocate() {
    need(entry_->allocatable);
    for (const std::vector<std::int64_t>& words : entry_->outputs) {
      std::array<std::int64_t, kMaxWords / 2> shape;
      for (std::size_t at = kHeadWords; at < words.size(); at += 2) shape[(at - kHeadWords) / 2] = words[at];
      dl::Tensor prototype{};
      prototype.device = {static_cast<std::int32_t>(words[0] >> 32), static_cast<std::int32_t>(words[0])};
      prototype.rank = static_cast<std::int32_t>(words[1] >> 32);
      std::memcpy(&prototype.dtype, &words[1], sizeof prototype.dtype);  // code, bits and lanes, little-endian
      prototype.shape = shape.data();
      dl::ManagedTensor* managed = nullptr;
      checked(api_->allocate(&prototype, &managed, nullptr, &set_error));
      addresses_[count_ + made_count_] = managed->tensor.address();
      void* object = nullptr;
      checked(api_->object_from_managed(managed, &object));
      made_[made_count_++] = nb::steal(static_cast<PyObject*>(object));
    }
  }

  static void set_error(void*, const char* kind, const char* message) {
    nb::gil_scoped_acquire locked;
    PyErr_SetString(std::strcmp(kind, "MemoryError") == 0 ? PyExc_MemoryError : PyExc_RuntimeError, message);
  }

  void launch() {
    void* stream = nullptr;
    checked(api_->current_stream(device_.type, device_.id, &stream));
    nb::gil_scoped_release unlocked;  // a launch waits where the stream's queue is full
    entry_->plan->launch(addresses_.data(), count_ + entry_->outputs.size(), static_cast<cu::Stream>(stream),
                         device_.id, scalars_.data());
  }

  State& state_;
  PyObject* const* inputs_;
  std::size_t count_, given_count_ = 0, made_count_ = 0;
  PyObject* out_ = nullptr;
  const dl::ExchangeApi* api_ = nullptr;  // of the first tensor's type; it allocates, and knows the stream
  dl::Device device_;
  const Entry* entry_ = nullptr;
  std::array<PyObject*, kMaxScalars> given_{};
  std::array<Scalar, kMaxScalars> scalars_;
  std::array<cu::Address, kMaxTensors> addresses_;
  std::array<nb::object, kMaxOutputs> made_;
};

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  auto launcher = reinterpret_cast<LauncherObject*>(self);
  if (launcher->references == nullptr) return PyErr_Format(PyExc_RuntimeError, "this launcher is being collected");
  try {
    return Call(*launcher->state, arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flags))).run(names);
  } catch (const Miss&) {
    return PyObject_Vectorcall(launcher->state->miss, arguments, flags, names);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Failure& failure) {
    raise(failure);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
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

// `references` are miss, grad_mode, "out", "requires_grad", types, guards and names of scalars.
nb::object make(nb::handle cls, nb::tuple references) {
  auto state = std::make_unique<State>();
  auto at = [&](int number) { return nb::handle(references[number]); };
  state->miss = at(0).ptr(), state->grad_mode = at(1).ptr();
  state->out = at(2).ptr(), state->requires_grad = at(3).ptr();
  for (nb::handle type : at(4)) state->types.push_back({reinterpret_cast<PyTypeObject*>(type.ptr()), api_of(type)});
  for (nb::handle guard : at(5)) state->guards.push_back(guard.ptr());
  for (nb::handle name : at(6)) state->scalars.push_back(name.ptr());
  nb::object self = nb::steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(cls.ptr()), 0));
  auto launcher = reinterpret_cast<LauncherObject*>(self.ptr());
  launcher->references = references.release().ptr();
  launcher->state = state.release();
  launcher->vectorcall = &vectorcall;
  return self;
}

void add(nb::handle self, nb::object owner, const std::vector<std::int64_t>& words,
         const std::vector<std::vector<std::int64_t>>& outputs, const std::vector<std::uint64_t>& alignments,
         bool allocatable, const std::vector<int>& scalars) {
  std::uint64_t hash = hash_of(words.data(), words.size());
  const Plan* plan = &nb::cast<const Plan&>(owner);
  auto same = [&](const Entry& other) { return other.words == words && other.alignments == alignments; };
  reinterpret_cast<LauncherObject*>(self.ptr())->state->table.add(hash, same, [&] {
    return std::make_unique<Entry>(Entry{hash, words, outputs, alignments, allocatable, scalars, owner, plan});
  });
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
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"pyptx_launch.Launcher", sizeof(LauncherObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

void bind_launcher(nb::module_& shim) {
  shim.def("limits", [] { return nb::make_tuple(kMaxTensors, kMaxOutputs, kMaxScalars); },
           nb::sig("def limits() -> tuple[int, int, int]"));
  shim.def("make_launcher", &make, "cls"_a, "references"_a,
           nb::sig("def make_launcher(cls: type, references: tuple[object, ...]) -> object"));
  shim.def("add_plan", &add, "launcher"_a, "plan"_a, "words"_a, "outputs"_a, "alignments"_a, "dense"_a, "scalars"_a);
  shim.def("launcher_type", [](nb::dict attributes) {
    nb::object type = nb::steal(PyType_FromSpec(&spec));
    checked(!type.is_valid());
    for (auto [name, value] : attributes) nb::setattr(type, name, value);
    return type;
  }, "attributes"_a, nb::sig("def launcher_type(attributes: dict[str, object]) -> type"));
}

}  // namespace pyptx
