// Handlers of XLA's custom call `pyptx_launch`, through which jax runs kernels: one for GPUs, one for CPUs.
//
// The attribute `record` of a call describes the kernel. XLA instantiates a call once in each program that it compiles:
// then a resolver in Python creates an XlaLaunch from the record, and the program keeps it. On a GPU, running a launch
// needs neither Python nor the GIL. On a CPU, it calls a Python function with memoryviews of the buffers, not copies.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>
#include <xla/ffi/api/ffi.h>

#include <atomic>
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

// One tensor of a single launch: its rank and its size in bytes. A buffer of higher rank is a batch of such tensors.
using Item = std::pair<std::size_t, std::size_t>;

// Launch that a record describes: `plan` on a GPU, `run` on a CPU. The operands of the custom call are the inputs. Its
// results are the outputs, then the new values of the inputs in `mutated`, each in the memory of its input.
struct XlaLaunch {
  std::shared_ptr<Plan> plan;
  nb::object run;
  std::vector<Item> items;  // inputs, then outputs
  std::size_t inputs;
  std::vector<std::size_t> sources;  // index of each item's buffer: operands are counted first, then results

  bool writes_to(std::size_t item) const { return sources[item] >= inputs; }
};

// Permission to run Python on a thread of XLA. Python may exit while XLA still computes, and then ends each thread that
// requests the GIL. So the exit waits until all visits have ended, and later visits are not admitted.
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

  void require() const { if (!admitted) throw std::runtime_error("the Python interpreter has exited"); }

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

// Return the text of the current Python exception, and clear the exception; needs the GIL.
std::string text_of_error() {
  nb::python_error error;
  nb::object text = nb::steal(PyObject_Str(error.value().ptr()));
  const char* characters = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (characters != nullptr) return characters;
  PyErr_Clear();
  return "an error without a message";
}

// Run `body`, and return an XLA error with the text of the exception that it throws (Failure, Python's or C++'s).
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

// Throw the error for a program whose buffers do not match its record, which only a damaged program has.
[[noreturn]] void refuse(const std::string& why) {
  throw Failure("LaunchError", "invalid or damaged pyptx program: " + why);
}

// The buffers of a call, by item. The buffer of an input in `mutated` is the result that shares the input's memory.
class Buffers {
 public:
  Buffers(const XlaLaunch& launch, const ffi::RemainingArgs& operands, const ffi::RemainingRets& results)
      : launch(launch), operands_(operands), results_(results) {}

  void check_count() const {
    std::size_t mutated = 0, outputs = launch.items.size() - launch.inputs;
    for (std::size_t i = 0; i < launch.inputs; ++i) mutated += launch.writes_to(i);
    if (operands_.size() != launch.inputs || results_.size() != outputs + mutated)
      refuse("operands or results of a call differ from its record");
  }

  ffi::AnyBuffer operator[](std::size_t item) const {
    std::size_t source = launch.sources[item];
    if (source < launch.inputs) return *operands_.get<ffi::AnyBuffer>(source);
    return **results_.get<ffi::AnyBuffer>(source - launch.inputs);
  }

  cu::Address address(std::size_t item) const { return reinterpret_cast<cu::Address>((*this)[item].untyped_data()); }

  const XlaLaunch& launch;

 private:
  const ffi::RemainingArgs& operands_;
  const ffi::RemainingRets& results_;
};

// Checks a call's buffers against its record, and computes the leading batch dimensions that all buffers have.
class Batch {
 public:
  explicit Batch(const Buffers& buffers) : buffers_(buffers) {
    buffers.check_count();
    for (std::size_t i = 0; i < buffers.launch.items.size(); ++i) add(i, buffers[i], buffers.launch.items[i]);
    for (std::int64_t extent : extents_) count *= static_cast<std::size_t>(extent);
  }

  bool single() const { return extents_.empty(); }

  // Write the addresses of launch `number`; the last batch dimension varies fastest. Launches share a buffer along each
  // batch dimension in which its extent is 1.
  void locate(std::size_t number, cu::Address* addresses) const {
    for (std::size_t i = 0; i < buffers_.launch.items.size(); ++i) {
      std::size_t rest = number, stride = buffers_.launch.items[i].second;
      ffi::AnyBuffer::Dimensions dimensions = buffers_[i].dimensions();
      addresses[i] = buffers_.address(i);
      for (std::size_t axis = extents_.size(); axis-- > 0;) {
        auto own = static_cast<std::size_t>(dimensions[axis]), extent = static_cast<std::size_t>(extents_[axis]);
        if (own != 1) addresses[i] += rest % extent * stride;
        rest /= extent;
        stride *= own;
      }
    }
  }

  std::size_t count = 1;  // number of launches

 private:
  void add(std::size_t index, const ffi::AnyBuffer& buffer, const Item& item) {
    auto [rank, bytes] = item;
    ffi::AnyBuffer::Dimensions dimensions = buffer.dimensions();
    if (dimensions.size() < rank) refuse("an array has fewer dimensions than in the record");
    if (index == 0) extents_.assign(dimensions.size() - rank, 1);
    if (dimensions.size() - rank != extents_.size()) refuse("arrays are batched differently");
    for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
      if (extents_[axis] == 1) extents_[axis] = dimensions[axis];
      if (dimensions[axis] != 1 && dimensions[axis] != extents_[axis]) refuse("arrays are batched differently");
      bytes *= static_cast<std::size_t>(dimensions[axis]);
    }
    if (buffer.size_bytes() != bytes) refuse("the size of an array differs from the record");
  }

  const Buffers& buffers_;
  std::vector<std::int64_t> extents_;
};

// Call `body` with the addresses of each launch of a call. The shapes of a call in a compiled program never change: if
// they are found to be a single launch's, `single` is set, and later calls read only addresses.
template <typename Body>
void for_each(const Buffers& buffers, std::atomic<bool>& single, Body body) {
  std::size_t items = buffers.launch.items.size();
  auto addresses = static_cast<cu::Address*>(__builtin_alloca((items + 1) * sizeof(cu::Address)));
  if (single.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < items; ++i) addresses[i] = buffers.address(i);
    return body(addresses);
  }
  Batch batch(buffers);
  for (std::size_t number = 0; number < batch.count; ++number) {
    batch.locate(number, addresses);
    body(addresses);
  }
  single.store(batch.single(), std::memory_order_relaxed);
}

// resolver(platform, record) returns an XlaLaunch. A global, because XLA's handlers have no parameter for it.
PyObject* resolver = nullptr;

enum Platform { kCpu, kCuda };
constexpr const char* kNames[] = {"cpu", "CUDA"};

// State of a custom call: the launch that a compiled program keeps. Each platform has its own state type, because each
// platform may be in its own library, which numbers types separately.
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
      owner.release();  // the interpreter and its objects no longer exist
    }
  }

  nb::object owner;
  const XlaLaunch* launch;
  std::atomic<bool> single = false;
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
  const XlaLaunch& launch = *state->launch;
  return reported([&] {
    for_each(Buffers(launch, operands, results), state->single, [&](const cu::Address* addresses) {
      launch.plan->launch(addresses, launch.items.size(), stream, device);
    });
  });
}

ffi::Error execute_on_cpu(State<kCpu>* state, ffi::RemainingArgs operands, ffi::RemainingRets results) {
  Visit visit;
  const XlaLaunch& launch = *state->launch;
  return reported([&] {
    visit.require();
    nb::gil_scoped_acquire locked;
    for_each(Buffers(launch, operands, results), state->single, [&](const cu::Address* addresses) {
      nb::list views;
      for (std::size_t i = 0; i < launch.items.size(); ++i) {
        auto bytes = static_cast<Py_ssize_t>(launch.items[i].second);
        auto memory = reinterpret_cast<char*>(addresses[i]);
        int flags = launch.writes_to(i) ? PyBUF_WRITE : PyBUF_READ;
        nb::object view = nb::steal(PyMemoryView_FromMemory(memory, bytes, flags));
        if (!view.is_valid()) throw nb::python_error();
        views.append(view);
      }
      launch.run(views);
    });
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
                       {ffi::Traits::kCmdBufferCompatible});  // launches do not change, so a graph may replay them
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
  std::vector<std::size_t> sources(items.size());
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i] = i;
  for (std::size_t i = 0; i < mutated.size(); ++i)
    if ((fits = fits && mutated[i] < inputs && sources[mutated[i]] < inputs)) sources[mutated[i]] = items.size() + i;
  if (!fits || (plan == nullptr) == run.is_none()) throw nb::value_error("a plan or a function, for these items");
  new (launch) XlaLaunch{std::move(plan), std::move(run), std::move(items), inputs, std::move(sources)};
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
