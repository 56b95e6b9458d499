// State of a launcher: its plans, by the properties of their tensors, and the checks that it makes in every call.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings.h"
#include "dlpack.h"
#include "plan.h"

namespace pyptx {

// Maximum tensors and descriptive words of one call; a call with more of either is a miss.
constexpr std::size_t kMaxTensors = 32, kMaxWords = 512;
constexpr std::size_t kHeadWords = 2;

// Write the words that describe a tensor: device; element type and rank; then extent and stride of each dimension (for
// an extent of 1, stride 0). `Signature.words` in launchers.py returns the same numbers.
inline std::size_t describe(const dl::Tensor& tensor, std::int64_t* to) {
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

inline std::uint64_t hash_of(const std::int64_t* words, std::size_t count) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(words[i])) * 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    hash ^= hash >> 32;
  }
  return hash;
}

// Return whether two values of a fixed keyword are equal and of one type (1, 1.0 and True differ); runs no Python code.
bool same_value(PyObject* one, PyObject* other);

// Prototype of an output, its sizes, its strides, and its three codes for Native::empty (no codes: not native).
using Sizes = std::vector<std::int64_t>;
using Like = std::tuple<nanobind::object, Sizes, Sizes, std::vector<std::int32_t>>;

// One plan of a launcher, and the properties of the calls for which it is launched.
struct Entry {
  Sizes words;  // of all inputs, or of the device if there are none; then -1 - i for each passed fixed keyword i
  std::vector<nanobind::object> fixed;  // the values of these fixed keywords
  std::vector<Sizes> outputs;
  std::vector<std::uint64_t> alignments, sizes;  // of inputs, then outputs, in bytes
  std::vector<Like> like;            // for each output; empty if calls must pass `out=`
  std::vector<std::size_t> mutated;  // the inputs that the kernel writes to
  std::vector<int> scalars;          // for each scalar of the plan, its index among the launcher's; -1: not settable
  nanobind::object owner;            // Python object of the plan
  const Plan* plan;

  template <typename Objects>
  bool same(const std::int64_t* others, std::size_t count, const Objects& values) const {
    if (words.size() != count || std::memcmp(words.data(), others, count * sizeof *others) != 0) return false;
    std::size_t i = 0;
    while (i < fixed.size() && same_value(fixed[i].ptr(), nanobind::handle(values[i]).ptr())) ++i;
    return i == fixed.size();
  }
  // Address 0: a tensor without memory, whose storage was freed or never allocated.
  bool usable(const cu::Address* addresses, std::size_t from, std::size_t to) const {
    auto fits = [&](std::size_t i) { return (addresses[i] != 0 || sizes[i] == 0) && addresses[i] % alignments[i] == 0; };
    while (from < to && fits(from)) ++from;
    return from == to;
  }
};

// The entries of a launcher, by their words. A call shares ownership of its entry, so another thread may remove it.
class Entries {
 public:
  using Shared = std::shared_ptr<const Entry>;

  Shared find(const std::int64_t* words, std::size_t count, PyObject* const* fixed, const cu::Address* addresses,
              std::size_t inputs) {
    std::lock_guard lock(mutex_);
    auto fits = [&](const Shared& one) { return one->same(words, count, fixed) && one->usable(addresses, 0, inputs); };
    if (last_ != nullptr && fits(last_)) return last_;
    auto [from, to] = by_hash_.equal_range(hash_of(words, count));
    for (; from != to; ++from)
      if (fits(from->second)) return last_ = from->second;
    return nullptr;
  }

  void add(Shared entry) {
    std::lock_guard lock(mutex_);
    auto [from, to] = by_hash_.equal_range(hash_of(entry->words.data(), entry->words.size()));
    for (; from != to; ++from)
      if (from->second->same(entry->words.data(), entry->words.size(), entry->fixed) &&
          from->second->alignments == entry->alignments) return;
    by_hash_.emplace(hash_of(entry->words.data(), entry->words.size()), std::move(entry));
  }

  void clear() {
    std::unordered_multimap<std::uint64_t, Shared> dropped;  // destroyed after unlocking: frees Python objects
    Shared last;
    std::lock_guard lock(mutex_);
    dropped.swap(by_hash_);
    last.swap(last_);
  }

 private:
  std::mutex mutex_;  // held for nanoseconds, and never while Python code runs
  std::unordered_multimap<std::uint64_t, Shared> by_hash_;
  Shared last_;
};

// Functions in a framework's own libraries, about ten times as fast as the Python functions that they replace. A
// tensor's Python object contains a pointer to its implementation at `offset`; the functions take the address of that
// pointer (a reference to a handle), or the pointer itself.
struct Native {
  using Asked = bool (*)(std::uint16_t);
  using OfHandle = bool (*)(const void* const*);
  using OfTensor = bool (*)(const void*);
  using SizeOf = int (*)(const void* const*, std::int64_t*);

  std::size_t offset = 0;
  std::vector<std::pair<Asked, std::uint16_t>> guards;
  std::vector<OfHandle> tensor_guards;
  Asked grad_mode = nullptr;
  OfTensor requires_grad = nullptr;
  OfHandle is_inference = nullptr;
  void (*bump_version)(const void* const*) = nullptr;
  SizeOf storage_size = nullptr;  // writes the size in bytes; returns 0 on success; may be null
  // Allocate a tensor (rank, sizes, strides, codes) and its handle; returns 0 on success. May be null.
  int (*empty)(std::int64_t, const std::int64_t*, const std::int64_t*, std::int32_t, std::int32_t, std::int32_t,
               void**) = nullptr;
  PyObject* (*wrap)(const void*) = nullptr;
  int (*drop)(void*) = nullptr;

  const void* const* handle(PyObject* tensor) const {
    return reinterpret_cast<const void* const*>(reinterpret_cast<const char*>(tensor) + offset);
  }
  bool freed(const void* const* handle) const {
    std::int64_t bytes = 1;
    return storage_size != nullptr && (storage_size(handle, &bytes) != 0 || bytes == 0);
  }
};

struct Accepted { PyTypeObject* type; const dl::ExchangeApi* api; };
struct Variable { PyObject *names, *name, *value; };  // `names`: a module's dictionary; another value is a miss

// The pointers to Python objects are borrowed from the launcher's tuple `references`.
struct State {
  PyObject *miss, *grad_mode, *out, *requires_grad, *empty_like, *count_writes, *device, *place;
  std::vector<PyObject*> guards, tensor_guards, keywords;  // names of scalars, then of fixed keywords
  std::size_t scalars;                                     // number of scalars among `keywords`
  std::vector<std::pair<std::size_t, std::size_t>> positions;  // index of an argument, and of its keyword
  std::vector<Accepted> types;
  std::vector<Variable> variables;
  std::unique_ptr<const Native> native;  // if set, called instead of the equivalent Python functions
  Entries entries;
};

// Launch the plan that matches a call and return its outputs, or the miss handler's result; null: a Python exception.
PyObject* answer(State& state, PyObject* const* arguments, std::size_t flags, PyObject* names) noexcept;
PyObject* answer(State& state, PyObject* arguments, PyObject* keywords) noexcept;  // a tuple; a dict or null

}  // namespace pyptx
