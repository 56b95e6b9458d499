// One call of a launcher, from the arguments of a Python vectorcall to the driver's launch function.
#include <array>
#include <cmath>

#include "launcher.h"

namespace nb = nanobind;

namespace pyptx {
namespace {

template <typename T, std::size_t kUsual = 16>
class Few {
 public:
  explicit Few(std::size_t count) : more_(count > kUsual ? new T[count]() : nullptr) {}
  T& operator[](std::size_t i) { return data()[i]; }
  T* data() { return more_ ? more_.get() : usual_.data(); }

 private:
  std::array<T, kUsual> usual_{};
  std::unique_ptr<T[]> more_;
};

struct Miss {};

void need(bool hit) { if (!hit) throw Miss{}; }

void checked(int status) { if (status != 0) throw nb::python_error(); }

nb::object called(PyObject* callable, PyObject* argument = nullptr) {
  PyObject* arguments[] = {nullptr, argument};
  std::size_t count = argument != nullptr;
  nb::object answer = nb::steal(
      PyObject_Vectorcall(callable, arguments + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  checked(!answer.is_valid());
  return answer;
}

bool truth(const nb::object& answer) {
  int truth = PyObject_IsTrue(answer.ptr());
  checked(truth < 0);
  return truth != 0;
}

// Replace an ordinary Python exception by a miss: the miss handler raises a better error.
[[noreturn]] void miss_instead() {
  checked(PyErr_ExceptionMatches(PyExc_Exception) == 0);
  PyErr_Clear();
  throw Miss{};
}

bool same_name(PyObject* name, PyObject* wanted) {
  return name == wanted || PyUnicode_Compare(name, wanted) == 0;  // nearly all names are interned
}

// One call of a launcher. Its steps throw Miss if no plan fits the call, and python_error or Failure for an error.
class Call {
 public:
  explicit Call(State& state) : state_(state), native_(state.native.get()), given_(state.keywords.size()) {}

  void read_keyword(PyObject* name, PyObject* value) {
    std::size_t at = 0;
    while (at < state_.keywords.size() && !same_name(name, state_.keywords[at])) ++at;
    if (at < state_.keywords.size()) return give(at, value);
    need(same_name(name, state_.out) || (state_.device != Py_None && same_name(name, state_.device)));
    (same_name(name, state_.out) ? out_ : device_given_) = value == Py_None ? nullptr : value;
  }

  // Separate scalars from tensors. Called after the keywords are read: a scalar passed by name has no position.
  template <typename Argument>
  void read_arguments(std::size_t count, Argument argument) {
    auto number = state_.positions.begin();
    for (std::size_t i = 0, position = 0; i < count; ++position) {
      bool is_number = number != state_.positions.end() && number->first == position;
      std::size_t at = is_number ? number++->second : 0;
      need(is_number || count_ < kMaxTensors);
      if (!is_number) inputs_[count_++] = argument(i++);
      else if (given_[at] == nullptr) give(at, argument(i++));
    }
  }

  PyObject* run() {
    need(device_given_ == nullptr || (count_ == 0 && out_ == nullptr));
    ask();
    find();
    find_stream();
    Few<Scalar> scalars(entry_->scalars.size());
    read_scalars(scalars);
    if (out_ != nullptr) read_out(); else allocate();
    count_writes();
    {
      nb::gil_scoped_release unlocked;  // a launch blocks while the stream's queue is full
      entry_->plan->launch(addresses_.data(), count_ + entry_->outputs.size(), stream_, device_.id, scalars.data());
    }
    return (out_ != nullptr ? nb::borrow(out_) : std::move(made_)).release().ptr();
  }

 private:
  void give(std::size_t at, PyObject* value) {
    given_[at] = value;
    given_count_ += at < state_.scalars;
  }

  // Miss if a torch mode or transform is active that a direct launch would bypass; read whether gradients are enabled.
  void ask() {
    for (const Variable& variable : state_.variables) need(PyDict_GetItem(variable.names, variable.name) == variable.value);
    for (PyObject* guard : state_.guards) need(!truth(called(guard)));
    if (native_ != nullptr) {
      for (auto [guard, argument] : native_->guards) need(!guard(argument));
      gradients_ = native_->grad_mode(0);
    } else {
      gradients_ = state_.grad_mode != Py_None && truth(called(state_.grad_mode));
    }
  }

  // Miss for a tensor that needs a gradient, or has a property that DLPack does not report, such as freed storage.
  void ask(PyObject* tensor) {
    if (native_ != nullptr) {
      const void* const* handle = native_->handle(tensor);
      for (Native::OfHandle guard : native_->tensor_guards) need(!guard(handle));
      need(!(gradients_ && native_->requires_grad(*handle)));
      need(!native_->freed(handle));
      return;
    }
    for (PyObject* guard : state_.tensor_guards) need(!truth(called(guard, tensor)));
    if (!gradients_) return;
    nb::object wanted = nb::steal(PyObject_GetAttr(tensor, state_.requires_grad));
    checked(!wanted.is_valid());
    need(wanted.is(Py_False));
  }

  // Write the words that describe tensor `number` to `words`, store its address, and return the number of words.
  std::size_t read(PyObject* object, std::size_t number, std::int64_t* words, std::size_t room) {
    std::size_t at = 0;
    while (at < state_.types.size() && Py_TYPE(object) != state_.types[at].type) ++at;
    need(at < state_.types.size() && number < kMaxTensors);
    ask(object);
    if (number == 0) api_ = state_.types[at].api;
    dl::Tensor tensor;
    if (state_.types[at].api->tensor_from_object(object, &tensor) != 0) miss_instead();  // sparse, meta, …
    need(kHeadWords + 2 * static_cast<std::size_t>(tensor.rank) <= room);
    if (number == 0) device_ = tensor.device;
    addresses_[number] = tensor.address();
    return describe(tensor, words);
  }

  void find() {
    std::array<std::int64_t, kMaxWords> words;
    std::size_t used = 0;
    for (std::size_t i = 0; i < count_; ++i) used += read(inputs_[i], i, &words[used], kMaxWords - used);
    if (count_ == 0) words[used++] = read_device();
    PyObject** fixed = given_.data() + state_.scalars;
    for (std::size_t i = state_.scalars, next = 0; i < state_.keywords.size(); ++i) {
      if (given_[i] == nullptr) continue;
      need(used < kMaxWords);
      words[used++] = -1 - static_cast<std::int64_t>(i - state_.scalars);
      fixed[next++] = given_[i];
    }
    entry_ = state_.entries.find(words.data(), used, fixed, addresses_.data(), count_);
    need(entry_ != nullptr);
  }

  // Return the word for the device of a call without inputs, which `place` computes from `out=` or the keyword.
  std::int64_t read_device() {
    PyObject* witness = out_ != nullptr ? out_ : device_given_ != nullptr ? device_given_ : Py_None;
    need(state_.place != Py_None);
    std::int64_t word = PyLong_AsLongLong(called(state_.place, witness).ptr());
    need(word >= 0);
    device_ = {static_cast<std::int32_t>(word >> 32), static_cast<std::int32_t>(word)};
    api_ = state_.types[0].api;
    return word;
  }

  // A call on a stream that captures a graph is a miss: the miss handler keeps the plan alive for the graph.
  void find_stream() {
    void* stream = nullptr;
    checked(api_->current_stream(device_.type, device_.id, &stream));
    stream_ = static_cast<cu::Stream>(stream);
    int capturing = 0;
    if (stream_ != nullptr) need(driver().stream_is_capturing(stream_, &capturing) == cu::kSuccess && capturing == 0);
  }

  void read_scalars(Few<Scalar>& to) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < entry_->scalars.size(); ++i) {
      if (entry_->scalars[i] < 0) continue;
      PyObject* value = given_[entry_->scalars[i]];
      need(value != nullptr);
      for (const Accepted& tensor : state_.types) need(!PyType_IsSubtype(Py_TYPE(value), tensor.type));
      if (!convert(entry_->plan->scalars[i]->type, value, to[i])) miss_instead();
      ++taken;
    }
    need(taken == given_count_);
  }

  // Read output `i`, passed by the caller or just allocated; miss unless the plan can write to this tensor.
  void read_output(PyObject* object, std::size_t i) {
    std::array<std::int64_t, kMaxWords> words;
    std::size_t used = read(object, count_ + i, words.data(), kMaxWords);
    const std::vector<std::int64_t>& wanted = entry_->outputs[i];
    need(wanted.size() == used && std::memcmp(wanted.data(), words.data(), used * sizeof words[0]) == 0);
    need(entry_->usable(addresses_.data(), count_ + i, count_ + i + 1));
  }

  void read_out() {
    std::size_t wanted = entry_->outputs.size();
    bool tuple = PyTuple_Check(out_) && wanted > 1;
    need(tuple ? PyTuple_Size(out_) == static_cast<Py_ssize_t>(wanted) : wanted == 1);
    for (std::size_t i = 0; i < wanted; ++i) {
      read_output(tuple ? PyTuple_GetItem(out_, static_cast<Py_ssize_t>(i)) : out_, i);
      for (std::size_t one = count_, other = count_ + i; one < other; ++one)
        need(addresses_[one] >= addresses_[other] + entry_->sizes[other] ||
             addresses_[other] >= addresses_[one] + entry_->sizes[one]);
    }
  }

  void allocate() {
    std::size_t count = entry_->like.size();
    need(count == entry_->outputs.size());
    made_ = count == 0 ? nb::none() : nb::steal(count > 1 ? PyTuple_New(static_cast<Py_ssize_t>(count)) : nullptr);
    for (std::size_t i = 0; i < count; ++i) {
      nb::object output = make(entry_->like[i]);
      read_output(output.ptr(), i);
      if (count == 1) made_ = std::move(output);
      else checked(PyTuple_SetItem(made_.ptr(), static_cast<Py_ssize_t>(i), output.release().ptr()));
    }
  }

  // Allocate an output natively, or if this fails by `empty_like`, which raises the framework's error.
  nb::object make(const Like& output) {
    const auto& [like, sizes, strides, codes] = output;
    void* handle = nullptr;
    if (native_ != nullptr && native_->empty != nullptr && codes.size() == 3) {
      nb::gil_scoped_release unlocked;  // an allocation may wait for the device
      auto rank = static_cast<std::int64_t>(sizes.size());
      native_->empty(rank, sizes.data(), strides.data(), codes[0], codes[1], codes[2], &handle);
    }
    if (handle == nullptr) return called(state_.empty_like, like.ptr());
    nb::object made = nb::steal(native_->wrap(handle));
    native_->drop(handle);
    checked(!made.is_valid());
    return made;
  }

  // Increment the versions of the tensors of `out=` and of the mutated inputs, for the framework's autograd.
  void count_writes() {
    bool tuple = out_ != nullptr && PyTuple_Check(out_);
    std::size_t given = out_ == nullptr ? 0 : entry_->outputs.size(), mutated = entry_->mutated.size();
    if (state_.count_writes == Py_None || given + mutated == 0) return;
    nb::object listed = nb::steal(native_ == nullptr ? PyList_New(0) : nullptr);
    auto count = [&](PyObject* tensor) {
      if (native_ == nullptr) return checked(PyList_Append(listed.ptr(), tensor));
      const void* const* handle = native_->handle(tensor);
      if (!native_->is_inference(handle)) native_->bump_version(handle);
    };
    for (std::size_t i : entry_->mutated) count(inputs_[i]);
    for (std::size_t i = 0; i < given; ++i) count(tuple ? PyTuple_GetItem(out_, static_cast<Py_ssize_t>(i)) : out_);
    if (native_ != nullptr) return;
    if (!nb::steal(PyObject_CallFunctionObjArgs(state_.count_writes, listed.ptr(), nullptr)).is_valid()) miss_instead();
  }

  State& state_;
  const Native* native_;
  std::array<PyObject*, kMaxTensors> inputs_;
  std::size_t count_ = 0, given_count_ = 0;  // number of input tensors, of passed scalars
  PyObject *out_ = nullptr, *device_given_ = nullptr;
  bool gradients_ = false;
  const dl::ExchangeApi* api_ = nullptr;  // of the first tensor's type; returns the stream
  dl::Device device_;
  cu::Stream stream_ = nullptr;
  Entries::Shared entry_;
  Few<PyObject*> given_;
  std::array<cu::Address, kMaxTensors> addresses_;
  nb::object made_;  // the output, a tuple of several, or None
};

// Launch with the keywords that `read` reads and the arguments that `argument` returns; on a miss, return `miss()`.
template <typename Read, typename Argument, typename Otherwise>
PyObject* launched(State& state, std::size_t count, Read read, Argument argument, Otherwise miss) noexcept {
  try {
    Call call(state);
    read(call);
    call.read_arguments(count, argument);
    return call.run();
  } catch (const Miss&) {
    return miss();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Failure& failure) {
    raise(failure);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace

bool same_value(PyObject* one, PyObject* other) {
  if (one == other) return true;
  if (Py_TYPE(one) != Py_TYPE(other)) return false;
  if (PyTuple_CheckExact(one)) {
    Py_ssize_t size = PyTuple_Size(one), i = 0;
    if (PyTuple_Size(other) != size) return false;
    while (i < size && same_value(PyTuple_GetItem(one, i), PyTuple_GetItem(other, i))) ++i;
    return i == size;
  }
  bool number = PyFloat_CheckExact(one);
  if (number && std::signbit(PyFloat_AsDouble(one)) != std::signbit(PyFloat_AsDouble(other))) return false;
  bool comparable = number || PyLong_CheckExact(one) || PyUnicode_CheckExact(one);
  return comparable && PyObject_RichCompareBool(one, other, Py_EQ) == 1;
}

PyObject* answer(State& state, PyObject* const* arguments, std::size_t flags, PyObject* names) noexcept {
  auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  auto read = [&](Call& call) {
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i)
      call.read_keyword(PyTuple_GetItem(names, i), arguments[count + static_cast<std::size_t>(i)]);
  };
  auto miss = [&] { return PyObject_Vectorcall(state.miss, arguments, flags, names); };
  return launched(state, count, read, [&](std::size_t i) { return arguments[i]; }, miss);
}

PyObject* answer(State& state, PyObject* arguments, PyObject* keywords) noexcept {
  auto read = [&](Call& call) {
    PyObject *name, *value;
    for (Py_ssize_t at = 0; keywords != nullptr && PyDict_Next(keywords, &at, &name, &value);)
      call.read_keyword(name, value);
  };
  auto argument = [&](std::size_t i) { return PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i)); };
  auto miss = [&] { return PyObject_Call(state.miss, arguments, keywords); };
  return launched(state, static_cast<std::size_t>(PyTuple_Size(arguments)), read, argument, miss);
}

}  // namespace pyptx
