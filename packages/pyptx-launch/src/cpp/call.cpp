// One call of a launcher: from the arguments of a vectorcall to the driver.
#include <array>
#include <cstddef>

#include "launcher.h"

namespace nb = nanobind;

namespace pyptx {
namespace {

// Elements of a call, on the stack if there are as few as usual.
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

void need(bool hit) {
  if (!hit) throw Miss{};
}

void checked(int status) {
  if (status != 0) throw nb::python_error();
}

nb::object called(PyObject* callable, PyObject* argument = nullptr) {
  PyObject* arguments[] = {nullptr, argument};
  std::size_t count = argument != nullptr;
  nb::object answer = nb::steal(
      PyObject_Vectorcall(callable, arguments + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
  checked(!answer.is_valid());
  return answer;
}

bool truth(const nb::object& answer) {
  if (answer.is(Py_False)) return false;
  int truth = PyObject_IsTrue(answer.ptr());
  checked(truth < 0);
  return truth != 0;
}

// Turn an ordinary exception into a miss: whoever answers misses says better what is wrong.
[[noreturn]] void miss_instead() {
  checked(PyErr_ExceptionMatches(PyExc_Exception) == 0);
  PyErr_Clear();
  throw Miss{};
}

bool same_name(PyObject* name, PyObject* wanted) {
  return name == wanted || PyUnicode_Compare(name, wanted) == 0;  // names are interned, nearly always
}

// One call: its steps throw Miss for what is not for a plan, and python_error or Failure for what is wrong.
class Call {
 public:
  Call(State& state, PyObject* const* inputs, std::size_t count)
      : state_(state), native_(state.native.get()), inputs_(inputs), count_(count), given_(state.scalars.size()) {}

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

  PyObject* run() {
    need(count_ > 0 && count_ <= kMaxTensors);
    ask();
    find();
    find_stream();
    Few<Scalar> scalars(entry_->scalars.size());
    read_scalars(scalars);
    if (out_ != nullptr) read_out(); else allocate();
    count_writes();
    launch(scalars.data());
    return (out_ != nullptr ? nb::borrow(out_) : std::move(made_)).release().ptr();
  }

 private:
  // Ask whether something goes on that a launch would bypass, and whether gradients are on.
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

  // Ask a tensor what DLPack does not tell, and a plan must not see.
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

  // Describe a tensor, input or output, behind `words`, note its address, and return how many words that took.
  std::size_t read(PyObject* object, std::size_t number, std::int64_t* words, std::size_t room) {
    std::size_t at = 0;
    while (at < state_.types.size() && Py_TYPE(object) != state_.types[at].type) ++at;
    need(at < state_.types.size() && number < kMaxTensors);
    ask(object);
    if (number == 0) api_ = state_.types[at].api;
    dl::Tensor tensor;
    if (state_.types[at].api->tensor_from_object(object, &tensor) != 0) miss_instead();  // sparse, on no device, …
    need(kHeadWords + 2 * static_cast<std::size_t>(tensor.rank) <= room);
    if (number == 0) device_ = tensor.device;
    addresses_[number] = tensor.address();
    return describe(tensor, words);
  }

  void find() {
    std::array<std::int64_t, kMaxWords> words;
    std::size_t used = 0;
    for (std::size_t i = 0; i < count_; ++i) used += read(inputs_[i], i, &words[used], kMaxWords - used);
    entry_ = state_.entries.find(words.data(), used, addresses_.data(), count_);
    need(entry_ != nullptr);
  }

  // A launch that a graph captures is a miss: whoever answers it keeps the plan for the graph.
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
      if (!convert(entry_->plan->scalars[i]->type, value, to[i])) miss_instead();
      ++taken;
    }
    need(taken == given_count_);
  }

  // Read output `i`: given, or just made; it must be what the plan writes.
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
      for (std::size_t before = 0; before < i; ++before) need(!overlap(count_ + before, count_ + i));
    }
  }

  bool overlap(std::size_t one, std::size_t other) const {
    return addresses_[one] < addresses_[other] + entry_->sizes[other] &&
           addresses_[other] < addresses_[one] + entry_->sizes[one];
  }

  void allocate() {
    std::size_t count = entry_->like.size();
    need(count == entry_->outputs.size());
    made_ = count == 0 ? nb::none() : nb::steal(count > 1 ? PyTuple_New(static_cast<Py_ssize_t>(count)) : nullptr);
    for (std::size_t i = 0; i < count; ++i) {
      nb::object output = called(state_.empty_like, entry_->like[i].ptr());
      read_output(output.ptr(), i);
      if (count == 1) made_ = std::move(output);
      else checked(PyTuple_SetItem(made_.ptr(), static_cast<Py_ssize_t>(i), output.release().ptr()));
    }
  }

  // Tell the framework of tensors that were there before and are written to.
  void count_writes() {
    bool tuple = out_ != nullptr && PyTuple_Check(out_);
    std::size_t given = out_ == nullptr ? 0 : entry_->outputs.size(), mutated = entry_->mutated.size();
    if (state_.count_writes == Py_None || given + mutated == 0) return;
    Few<PyObject*> written(given + mutated);
    for (std::size_t i = 0; i < mutated; ++i) written[i] = inputs_[entry_->mutated[i]];
    for (std::size_t i = 0; i < given; ++i)
      written[mutated + i] = tuple ? PyTuple_GetItem(out_, static_cast<Py_ssize_t>(i)) : out_;
    if (native_ != nullptr) return count_writes(written.data(), given + mutated);
    nb::list listed;
    for (std::size_t i = 0; i < given + mutated; ++i) listed.append(nb::handle(written[i]));
    nb::object answer = nb::steal(PyObject_CallFunctionObjArgs(state_.count_writes, listed.ptr(), nullptr));
    if (!answer.is_valid()) miss_instead();
  }

  void count_writes(PyObject* const* written, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const void* const* handle = native_->handle(written[i]);
      if (!native_->is_inference(handle)) native_->bump_version(handle);
    }
  }

  void launch(const Scalar* scalars) {
    nb::gil_scoped_release unlocked;  // a launch waits where the stream's queue is full
    entry_->plan->launch(addresses_.data(), count_ + entry_->outputs.size(), stream_, device_.id, scalars);
  }

  State& state_;
  const Native* native_;
  PyObject* const* inputs_;
  std::size_t count_, given_count_ = 0;
  PyObject* out_ = nullptr;
  bool gradients_ = false;
  const dl::ExchangeApi* api_ = nullptr;  // of the first tensor's type; it knows the stream
  dl::Device device_;
  cu::Stream stream_ = nullptr;
  Entries::Shared entry_;
  Few<PyObject*> given_;
  std::array<cu::Address, kMaxTensors> addresses_;
  nb::object made_;  // the output, a tuple of several, or None
};

// Do `body`; where it throws a miss, do that.
template <typename Body, typename Otherwise>
PyObject* launched(Body body, Otherwise miss) noexcept {
  try {
    return body();
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

PyObject* answer(State& state, PyObject* const* arguments, std::size_t flags, PyObject* names) noexcept {
  auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  auto body = [&] {
    Call call(state, arguments, count);
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i)
      call.read_keyword(PyTuple_GetItem(names, i), arguments[count + static_cast<std::size_t>(i)]);
    return call.run();
  };
  return launched(body, [&] { return PyObject_Vectorcall(state.miss, arguments, flags, names); });
}

PyObject* answer(State& state, PyObject* arguments, PyObject* keywords) noexcept {
  auto body = [&] {
    auto count = static_cast<std::size_t>(PyTuple_Size(arguments));
    need(count <= kMaxTensors);
    std::array<PyObject*, kMaxTensors> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs[i] = PyTuple_GetItem(arguments, static_cast<Py_ssize_t>(i));
    Call call(state, inputs.data(), count);
    PyObject *name, *value;
    for (Py_ssize_t at = 0; keywords != nullptr && PyDict_Next(keywords, &at, &name, &value);)
      call.read_keyword(name, value);
    return call.run();
  };
  return launched(body, [&] { return PyObject_Call(state.miss, arguments, keywords); });
}

}  // namespace pyptx
