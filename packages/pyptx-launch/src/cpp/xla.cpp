// The handlers of XLA's custom call `pyptx_launch`, through which jax runs kernels: one for GPUs, one for CPUs.
//
// A call carries its kernel as an attribute, the record. XLA instantiates a call once in each program that it compiles:
// there a resolver in Python makes a launch of the record, which lives as long as the program. Running it on a GPU takes
// neither Python nor its lock. On a CPU the launch is a Python function, and its buffers are memoryviews, not copies.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>
#include <xla/ffi/api/ffi.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "plan.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;
using namespace nb::literals;

namespace pyptx {
namespace {

// One tensor of a single launch: its rank and its bytes. A buffer of more dimensions is a batch of them.
using Item = std::pair<std::size_t, std::size_t>;

// What a record becomes: `plan` on a GPU, `run` on a CPU. The operands of the custom call are the inputs; its results
// are the outputs, then the new values of the inputs in `mutated`, each in its input's memory.
struct XlaLaunch {
  std::shared_ptr<Plan> plan;
  nb::object run;
  std::vector<Item> items;  // inputs, then outputs
  std::size_t inputs;
  std::vector<std::size_t> mutated;
};

// A stay in Python, on whichever thread XLA has called us. Python may end while XLA still computes, and then kills each
// thread that wants its lock: so its end waits for those inside, and afterwards nobody is admitted.
class Visit {
 public:
  Visit() {
    std::lock_guard<std::mutex> guard(door);
    admitted = !closed;
    inside += admitted;
  }

  ~Visit() {
    std::lock_guard<std::mutex> guard(door);
    inside -= admitted;
    if (inside == 0) empty.notify_all();
  }

  void require() const { if (!admitted) throw std::runtime_error("Python has ended"); }

  static void close() {
    nb::gil_scoped_release unlocked;
    std::unique_lock<std::mutex> guard(door);
    closed = true;
    empty.wait(guard, [] { return inside == 0; });
  }

  bool admitted;

 private:
  static inline std::mutex door;
  static inline std::condition_variable empty;
  static inline bool closed = false;
  static inline int inside = 0;
};

// The text of the Python exception that is set, which it clears; needs the interpreter's lock.
std::string text_of_error() {
  nb::python_error error;
  nb::object text = nb::steal(PyObject_Str(error.value().ptr()));
  const char* characters = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (characters != nullptr) return characters;
  PyErr_Clear();
  return "an error without words";
}

// Do `body`, which may throw what this package and Python throw, and tell XLA of it in our words.
template <typename Body>
ffi::Error reported(Body body) {
  try {
    body();
    return ffi::Error::Success();
  } catch (const Failure& failure) {
    Visit visit;
    if (!visit.admitted) return ffi::Error::Internal(failure.what());
    nb::gil_scoped_acquire locked;
    raise(failure);
    return ffi::Error::Internal(text_of_error());
  } catch (nb::python_error& error) {
    nb::gil_scoped_acquire locked;
    error.restore();
    return ffi::Error::Internal(text_of_error());
  } catch (const std::exception& error) {
    return ffi::Error::Internal(error.what());
  }
}

// What is wrong with a program whose buffers are not those of its record; only a damaged one can be.
[[noreturn]] void refuse(const std::string& why) {
  throw Failure("LaunchError", "this program was not made by pyptx, or it is damaged: " + why);
}

// The tensors of a call, inputs then outputs, and the batch dimensions that all of them have in front of their own.
class Batch {
 public:
  Batch(const XlaLaunch& launch, const ffi::RemainingArgs& operands, const ffi::RemainingRets& results)
      : launch_(launch) {
    std::size_t outputs = launch.items.size() - launch.inputs;
    if (operands.size() != launch.inputs || results.size() != outputs + launch.mutated.size())
      refuse("a call has other operands and results than its record");
    for (std::size_t i = 0; i < launch.inputs; ++i) add(*operands.get<ffi::AnyBuffer>(i), launch.items[i]);
    for (std::size_t i = 0; i < outputs; ++i)
      add(**results.get<ffi::AnyBuffer>(i), launch.items[launch.inputs + i]);
    for (std::size_t i = 0; i < launch.mutated.size(); ++i) {
      ffi::AnyBuffer written = **results.get<ffi::AnyBuffer>(outputs + i), &read = buffers_[launch.mutated[i]];
      if (written.size_bytes() != read.size_bytes()) refuse("an array that is written to changes its size");
      read = written;
    }
    for (std::int64_t extent : extents_) count *= static_cast<std::size_t>(extent);
  }

  // Return the addresses of the item at `number`, counted with the last dimension fastest. A buffer that has 1 where
  // others are batched is shared.
  const std::vector<cu::Address>& item(std::size_t number) {
    addresses_.resize(buffers_.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      std::size_t rest = number, stride = launch_.items[i].second;
      addresses_[i] = reinterpret_cast<cu::Address>(buffers_[i].untyped_data());
      for (std::size_t axis = extents_.size(); axis-- > 0;) {
        auto own = static_cast<std::size_t>(buffers_[i].dimensions()[axis]);
        auto extent = static_cast<std::size_t>(extents_[axis]);
        if (own != 1) addresses_[i] += rest % extent * stride;
        rest /= extent;
        stride *= own;
      }
    }
    return addresses_;
  }

  std::size_t count = 1;  // of launches

 private:
  void add(const ffi::AnyBuffer& buffer, const Item& item) {
    auto [rank, bytes] = item;
    ffi::AnyBuffer::Dimensions dimensions = buffer.dimensions();
    if (dimensions.size() < rank) refuse("an array has fewer dimensions than in the record");
    if (buffers_.empty()) extents_.assign(dimensions.size() - rank, 1);
    if (dimensions.size() - rank != extents_.size()) refuse("arrays are batched differently");
    for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
      if (extents_[axis] == 1) extents_[axis] = dimensions[axis];
      if (dimensions[axis] != 1 && dimensions[axis] != extents_[axis]) refuse("arrays are batched differently");
      bytes *= static_cast<std::size_t>(dimensions[axis]);
    }
    if (buffer.size_bytes() != bytes) refuse("an array has another size than in the record");
    buffers_.push_back(buffer);
  }

  const XlaLaunch& launch_;
  std::vector<ffi::AnyBuffer> buffers_;
  std::vector<std::int64_t> extents_;
  std::vector<cu::Address> addresses_;
};

// resolver(platform, record) returns an XlaLaunch. XLA finds handlers by name, so what they need cannot be handed in.
PyObject* resolver = nullptr;

enum Platform { kCpu, kCuda };
constexpr const char* kNames[] = {"cpu", "CUDA"};

// A launch, held by a compiled program. Each platform has a type of its own, because it may come in a library of its
// own, with a numbering of types of its own.
template <Platform platform>
struct State {
  static inline ffi::TypeId id = {};

  explicit State(nb::object made) : owner(std::move(made)), launch(nb::cast<const XlaLaunch*>(owner)) {}

  ~State() {
    Visit visit;
    if (visit.admitted) {
      nb::gil_scoped_acquire locked;
      owner.reset();
    } else {
      owner.release();  // Python has gone, and its objects with it
    }
  }

  nb::object owner;
  const XlaLaunch* launch;
};

template <Platform platform>
ffi::ErrorOr<std::unique_ptr<State<platform>>> instantiate(std::string_view record) {
  std::unique_ptr<State<platform>> state;
  Visit visit;
  ffi::Error error = reported([&] {
    visit.require();
    nb::gil_scoped_acquire locked;
    nb::object made = nb::handle(resolver)(kNames[platform], nb::bytes(record.data(), record.size()));
    state = std::make_unique<State<platform>>(std::move(made));
  });
  if (error.failure()) return ffi::Unexpected(std::move(error));
  return state;
}

ffi::Error execute_on_cuda(State<kCuda>* state, cu::Stream stream, std::int32_t device, ffi::RemainingArgs operands,
                           ffi::RemainingRets results) {
  return reported([&] {
    Batch batch(*state->launch, operands, results);
    for (std::size_t number = 0; number < batch.count; ++number) {
      const std::vector<cu::Address>& addresses = batch.item(number);
      state->launch->plan->launch(addresses.data(), addresses.size(), stream, device);
    }
  });
}

ffi::Error execute_on_cpu(State<kCpu>* state, ffi::RemainingArgs operands, ffi::RemainingRets results) {
  Visit visit;
  return reported([&] {
    Batch batch(*state->launch, operands, results);
    visit.require();
    nb::gil_scoped_acquire locked;
    for (std::size_t number = 0; number < batch.count; ++number) {
      nb::list views;
      auto item = state->launch->items.begin();
      for (cu::Address data : batch.item(number)) {
        auto bytes = static_cast<Py_ssize_t>((item++)->second);
        nb::object view = nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(data), bytes, PyBUF_WRITE));
        if (!view.is_valid()) throw nb::python_error();
        views.append(view);
      }
      state->launch->run(views);
    }
  });
}

constexpr auto kInstantiate = [] { return ffi::Ffi::BindInstantiate().Attr<std::string_view>("record"); };
XLA_FFI_DEFINE_HANDLER(kInstantiateOnCuda, instantiate<kCuda>, kInstantiate());
XLA_FFI_DEFINE_HANDLER(kInstantiateOnCpu, instantiate<kCpu>, kInstantiate());
XLA_FFI_DEFINE_HANDLER(kExecuteOnCuda, execute_on_cuda,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<State<kCuda>>>()
                           .Ctx<ffi::PlatformStream<cu::Stream>>()
                           .Ctx<ffi::DeviceOrdinal>()
                           .RemainingArgs()
                           .RemainingRets(),
                       {ffi::Traits::kCmdBufferCompatible});  // the launches are the same each time: they may be replayed
XLA_FFI_DEFINE_HANDLER(kExecuteOnCpu, execute_on_cpu,
                       ffi::Ffi::Bind().Ctx<ffi::State<State<kCpu>>>().RemainingArgs().RemainingRets());

template <Platform platform>
nb::tuple target(XLA_FFI_Handler* instantiate, XLA_FFI_Handler* execute) {
  static const ffi::TypeInfo info = ffi::MakeTypeInfo<State<platform>>();
  nb::dict type, stages;
  type["type_id"] = nb::capsule(&State<platform>::id);
  type["type_info"] = nb::capsule(&info);
  stages["instantiate"] = nb::capsule(reinterpret_cast<const void*>(instantiate));
  stages["execute"] = nb::capsule(reinterpret_cast<const void*>(execute));
  return nb::make_tuple(kNames[platform], type, stages);
}

void make_launch(XlaLaunch* launch, std::shared_ptr<Plan> plan, nb::object run, std::vector<Item> items,
                 std::size_t inputs, std::vector<std::size_t> mutated) {
  bool fits = inputs <= items.size() && (plan == nullptr || plan->pointers() <= items.size());
  for (std::size_t index : mutated) fits = fits && index < inputs;
  if (!fits || (plan == nullptr) == run.is_none()) throw nb::value_error("a plan or a function, for these items");
  new (launch) XlaLaunch{std::move(plan), std::move(run), std::move(items), inputs, std::move(mutated)};
}

}  // namespace

void bind_xla(nb::module_& shim) {
  nb::class_<XlaLaunch>(shim, "XlaLaunch")
      .def("__init__", &make_launch, "plan"_a.none(), "run"_a.none(), "items"_a, "inputs"_a, "mutated"_a,
           nb::sig("def __init__(self, plan: Plan | None, run: "
                   "collections.abc.Callable[[list[memoryview]], None] | None, items: collections.abc.Sequence[tuple[int, "
                   "int]], inputs: int, mutated: collections.abc.Sequence[int]) -> None"));
  shim.def("xla_targets", [] {
    return nb::make_tuple(target<kCpu>(kInstantiateOnCpu, kExecuteOnCpu),
                          target<kCuda>(kInstantiateOnCuda, kExecuteOnCuda));
  }, nb::sig("def xla_targets() -> tuple[tuple[str, dict[str, object], dict[str, object]], ...]"),
     "Return platform, type registration and handlers by stage of the custom call, for each platform.");
  shim.def("close_xla", &Visit::close, "Wait for the handlers that are in Python, and let no other in from now on.");
  shim.def("set_xla_resolver", [](nb::callable function) {
    Py_XDECREF(std::exchange(resolver, function.release().ptr()));
  }, "resolver"_a, nb::sig("def set_xla_resolver(resolver: collections.abc.Callable[[str, bytes], "
             "XlaLaunch]) -> None"),
     "Set what makes a launch of the name of a platform and a record.");
}

}  // namespace pyptx
