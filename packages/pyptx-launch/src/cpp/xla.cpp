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

#include <memory>
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

// One tensor of a single launch. A buffer of more dimensions is a batch: its items lie one behind the other.
struct Item {
  std::size_t rank, bytes;
};

// What a record becomes: `plan` on a GPU, `run` on a CPU. The operands of the custom call are the inputs; its results
// are the outputs, then the new values of the inputs in `mutated`, each in its input's memory.
struct XlaLaunch {
  std::shared_ptr<Plan> plan;
  nb::object run;
  std::vector<Item> items;  // inputs, then outputs
  std::vector<std::size_t> mutated;
  std::size_t inputs;
};

struct Buffer {
  cu::Address data;
  std::size_t bytes;
  ffi::AnyBuffer::Dimensions dimensions;
};

// --- errors -----------------------------------------------------------------------------------------------------------

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

// --- buffers ----------------------------------------------------------------------------------------------------------

// What is wrong with a program whose buffers are not those of its record; only a damaged one can be.
[[noreturn]] void refuse(const std::string& why) {
  throw Failure("LaunchError", "this program was not made by pyptx, or it is damaged: " + why);
}

cu::Address address(const ffi::AnyBuffer& buffer) { return reinterpret_cast<cu::Address>(buffer.untyped_data()); }

std::vector<Buffer> buffers_of(const XlaLaunch& launch, const ffi::RemainingArgs& operands,
                               const ffi::RemainingRets& results) {
  std::size_t outputs = launch.items.size() - launch.inputs;
  if (operands.size() != launch.inputs || results.size() != outputs + launch.mutated.size())
    refuse("a call has other operands and results than its record");
  std::vector<Buffer> found;
  found.reserve(launch.items.size());
  auto add = [&](const ffi::AnyBuffer& buffer) {
    found.push_back({address(buffer), buffer.size_bytes(), buffer.dimensions()});
  };
  for (std::size_t i = 0; i < launch.inputs; ++i) add(*operands.get<ffi::AnyBuffer>(i));
  for (std::size_t i = 0; i < outputs; ++i) add(**results.get<ffi::AnyBuffer>(i));
  for (std::size_t i = 0; i < launch.mutated.size(); ++i) {
    ffi::AnyBuffer result = **results.get<ffi::AnyBuffer>(outputs + i);
    Buffer& written = found[launch.mutated[i]];
    if (result.size_bytes() != written.bytes) refuse("an array that is written to changes its size");
    written.data = address(result);
  }
  return found;
}

// The batch dimensions that all buffers have in front of an item's own; one that is not batched has 1 there.
std::vector<std::int64_t> batch_of(const XlaLaunch& launch, const std::vector<Buffer>& buffers) {
  std::vector<std::int64_t> batch;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    const Item& item = launch.items[i];
    if (buffer.dimensions.size() < item.rank) refuse("an array has fewer dimensions than in the record");
    std::size_t leading = buffer.dimensions.size() - item.rank;
    if (i == 0) batch.assign(leading, 1);
    if (leading != batch.size()) refuse("arrays are batched differently");
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < leading; ++axis) {
      std::int64_t extent = buffer.dimensions[axis];
      count *= static_cast<std::size_t>(extent);
      if (batch[axis] == 1) batch[axis] = extent;
      else if (extent != 1 && extent != batch[axis]) refuse("arrays are batched differently");
    }
    if (buffer.bytes != count * item.bytes) refuse("an array has another size than in the record");
  }
  return batch;
}

// Move each address to the item at `number` of a batch, counted with the last dimension fastest.
void place(const XlaLaunch& launch, const std::vector<Buffer>& buffers, const std::vector<std::int64_t>& batch,
           std::size_t number, std::vector<cu::Address>& addresses) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::size_t rest = number, stride = launch.items[i].bytes, offset = 0;
    for (std::size_t axis = batch.size(); axis-- > 0;) {
      auto extent = static_cast<std::size_t>(batch[axis]), own = static_cast<std::size_t>(buffers[i].dimensions[axis]);
      if (own != 1) offset += rest % extent * stride;
      rest /= extent;
      stride *= own;
    }
    addresses[i] = buffers[i].data + offset;
  }
}

// Call `run` with the addresses of every item of the batch.
template <typename Run>
ffi::Error for_each_item(const XlaLaunch& launch, const ffi::RemainingArgs& operands,
                         const ffi::RemainingRets& results, Run run) {
  return reported([&] {
    std::vector<Buffer> buffers = buffers_of(launch, operands, results);
    std::vector<std::int64_t> batch = batch_of(launch, buffers);
    std::size_t count = 1;
    for (std::int64_t extent : batch) count *= static_cast<std::size_t>(extent);
    std::vector<cu::Address> addresses(buffers.size());
    for (std::size_t number = 0; number < count; ++number) {
      place(launch, buffers, batch, number, addresses);
      run(addresses);
    }
  });
}

// --- handlers ---------------------------------------------------------------------------------------------------------

// resolver(platform, record) returns an XlaLaunch. XLA finds handlers by name, so what they need cannot be handed in.
PyObject* resolver = nullptr;

struct Cuda {
  static constexpr const char* name = "CUDA";
};

struct Cpu {
  static constexpr const char* name = "cpu";
};

// A launch, held by a compiled program. Each platform has a type of its own, because it may come in a library of its
// own, with a numbering of types of its own.
template <typename Platform>
struct State {
  static inline ffi::TypeId id = {};

  explicit State(nb::object made) : owner(std::move(made)), launch(nb::cast<const XlaLaunch*>(owner)) {}

  ~State() {
    if (!nb::is_alive()) {  // Python has gone, and its objects with it
      owner.release();
      return;
    }
    nb::gil_scoped_acquire locked;
    owner.reset();
  }

  nb::object owner;
  const XlaLaunch* launch;
};

template <typename Platform>
ffi::ErrorOr<std::unique_ptr<State<Platform>>> instantiate(std::string_view record) {
  std::unique_ptr<State<Platform>> state;
  ffi::Error error = reported([&] {
    nb::gil_scoped_acquire locked;
    nb::object made = nb::handle(resolver)(Platform::name, nb::bytes(record.data(), record.size()));
    state = std::make_unique<State<Platform>>(std::move(made));
  });
  if (error.failure()) return ffi::Unexpected(std::move(error));
  return state;
}

ffi::Error execute_on_cuda(State<Cuda>* state, cu::Stream stream, std::int32_t device, ffi::RemainingArgs operands,
                           ffi::RemainingRets results) {
  const Plan& plan = *state->launch->plan;
  return for_each_item(*state->launch, operands, results, [&](const std::vector<cu::Address>& addresses) {
    plan.launch(addresses.data(), addresses.size(), stream, device);
  });
}

ffi::Error execute_on_cpu(State<Cpu>* state, ffi::RemainingArgs operands, ffi::RemainingRets results) {
  const XlaLaunch& launch = *state->launch;
  return for_each_item(launch, operands, results, [&](const std::vector<cu::Address>& addresses) {
    nb::gil_scoped_acquire locked;
    nb::list views;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      auto bytes = static_cast<Py_ssize_t>(launch.items[i].bytes);
      nb::object view = nb::steal(PyMemoryView_FromMemory(reinterpret_cast<char*>(addresses[i]), bytes, PyBUF_WRITE));
      if (!view.is_valid()) throw nb::python_error();
      views.append(view);
    }
    launch.run(views);
  });
}

XLA_FFI_DEFINE_HANDLER(kInstantiateOnCuda, instantiate<Cuda>,
                       ffi::Ffi::BindInstantiate().Attr<std::string_view>("record"));
XLA_FFI_DEFINE_HANDLER(kInstantiateOnCpu, instantiate<Cpu>,
                       ffi::Ffi::BindInstantiate().Attr<std::string_view>("record"));
XLA_FFI_DEFINE_HANDLER(kExecuteOnCuda, execute_on_cuda,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::State<State<Cuda>>>()
                           .Ctx<ffi::PlatformStream<cu::Stream>>()
                           .Ctx<ffi::DeviceOrdinal>()
                           .RemainingArgs()
                           .RemainingRets(),
                       {ffi::Traits::kCmdBufferCompatible});  // the launches are the same each time: they may be replayed
XLA_FFI_DEFINE_HANDLER(kExecuteOnCpu, execute_on_cpu,
                       ffi::Ffi::Bind().Ctx<ffi::State<State<Cpu>>>().RemainingArgs().RemainingRets());

// --- Python -----------------------------------------------------------------------------------------------------------

template <typename Platform>
nb::tuple target(XLA_FFI_Handler* instantiate, XLA_FFI_Handler* execute) {
  static const ffi::TypeInfo info = ffi::MakeTypeInfo<State<Platform>>();
  nb::dict type, stages;
  type["type_id"] = nb::capsule(&State<Platform>::id);
  type["type_info"] = nb::capsule(&info);
  stages["instantiate"] = nb::capsule(reinterpret_cast<const void*>(instantiate));
  stages["execute"] = nb::capsule(reinterpret_cast<const void*>(execute));
  return nb::make_tuple(Platform::name, type, stages);
}

void make_launch(XlaLaunch* launch, std::shared_ptr<Plan> plan, nb::object run,
                 const std::vector<std::pair<std::size_t, std::size_t>>& items, std::size_t inputs,
                 std::vector<std::size_t> mutated) {
  if ((plan == nullptr) == run.is_none()) throw nb::value_error("a plan, or a function");
  if (inputs > items.size() || (plan != nullptr && plan->pointers() > items.size()))
    throw nb::value_error("more inputs, or more tensors of the plan, than items");
  for (std::size_t index : mutated)
    if (index >= inputs) throw nb::value_error("mutated tells of an input that is not there");
  std::vector<Item> made;
  for (auto [rank, bytes] : items) made.push_back({rank, bytes});
  new (launch) XlaLaunch{std::move(plan), std::move(run), std::move(made), std::move(mutated), inputs};
}

}  // namespace

void bind_xla(nb::module_& shim) {
  nb::class_<XlaLaunch>(shim, "XlaLaunch")
      .def("__init__", &make_launch, "plan"_a.none(), "run"_a.none(), "items"_a, "inputs"_a, "mutated"_a,
           nb::sig("def __init__(self, plan: Plan | None, run: "
                   "collections.abc.Callable[[list[memoryview]], None] | None, items: collections.abc.Sequence[tuple[int, "
                   "int]], inputs: int, mutated: collections.abc.Sequence[int]) -> None"));
  shim.def("xla_targets", [] {
    nb::set_leak_warnings(false);  // programs that jax has compiled, and what they hold, outlive Python
    return nb::make_tuple(target<Cpu>(kInstantiateOnCpu, kExecuteOnCpu),
                          target<Cuda>(kInstantiateOnCuda, kExecuteOnCuda));
  }, nb::sig("def xla_targets() -> tuple[tuple[str, dict[str, object], dict[str, object]], ...]"),
     "Return platform, type registration and handlers by stage of the custom call, for each platform.");
  shim.def("set_xla_resolver", [](nb::callable function) {
    PyObject* previous = std::exchange(resolver, function.release().ptr());
    Py_XDECREF(previous);
  }, "resolver"_a, nb::sig("def set_xla_resolver(resolver: collections.abc.Callable[[str, bytes], "
             "XlaLaunch]) -> None"),
     "Set what makes a launch of the name of a platform and a record.");
}

}  // namespace pyptx
