// A plan: everything about a launch but the addresses, the stream and the values that change from call to call.
#pragma once

#include <Python.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "map_pool.h"
#include "tensor_map.h"

namespace pyptx {

enum class ScalarKind : std::uint8_t { bits, is_unsigned, is_signed, is_float, is_bfloat };  // as parameters.py has it

struct ScalarType { ScalarKind kind; std::uint8_t bytes; };
struct Scalar { bool given = false; unsigned char bytes[8]; };

// Write a Python number, little-endian, rounded to nearest for the floating-point types. False, with a Python exception
// set (TypeError, OverflowError), if it is no number or too large for the type (scalars.cpp).
bool convert(ScalarType type, PyObject* value, Scalar& to);

enum class SlotKind : std::uint8_t { pointer, scalar, map, map_pointer };  // as parameters.py has it

// One parameter of the entry.
struct Slot {
  SlotKind kind;
  unsigned index = 0;               // of the tensor whose address it takes; not for scalars
  ScalarType type{};                // of a scalar
  Scalar value{};                   // of a scalar; what is used when the call gives none
  std::optional<MapArguments> map;  // of a tensor map, by value or by pointer
  unsigned bytes = 0, offset = 0;   // set by the plan
};

// Immutable, but for what it knows of each device, which is made at the first launch there and published atomically.
// Any number of threads may launch it at once, without locks: parameters are put together on the stack.
class Plan {
 public:
  // `log` is where the driver's compiler writes what it complains of, perhaps as late as at first use, or null.
  Plan(cu::Kernel kernel, const char* log, std::string entry, const std::array<unsigned, 10>& shape,
       std::vector<Slot> slots, std::vector<cu::LaunchAttribute> attributes, std::shared_ptr<MapPools> pools);
  ~Plan();

  // Launch on a stream of a device, of whatever context of it; the default streams are those of its primary context.
  // `pointers` are the addresses of the tensors, in the order of their indexes; `scalars` is null, or one for each
  // scalar parameter, in order, those not given standing for the plan's own values. What context was current before
  // is so again afterwards.
  void launch(const cu::Address* pointers, std::size_t count, cu::Stream stream, int device,
              const Scalar* scalars = nullptr) const;

  std::size_t pointers() const { return pointers_; }  // how many addresses a launch takes

  const std::string entry;
  const std::array<unsigned, 10> shape;  // grid, block, cluster, bytes of dynamic shared memory
  std::vector<const Slot*> scalars;

 private:
  struct OnDevice {
    cu::Context context;              // the primary one
    std::vector<cu::TensorMap> maps;  // of the slots with maps, in order; their addresses are replaced at each launch
  };

  const OnDevice& on(int device, const cu::Address* pointers) const;
  std::unique_ptr<OnDevice> prepare(int device, const cu::Address* pointers) const;
  void load() const;
  int attribute(int attribute, int device) const;
  void check_limits(int device, unsigned fixed, unsigned most) const;
  MapPool& pool(const OnDevice& state, cu::Stream stream) const;
  void write(unsigned char* block, const OnDevice& state, const cu::Address* pointers, const Scalar* scalars,
             MapPool::Launch* pooled) const;
  void submit(const OnDevice& state, const cu::Address* pointers, cu::Stream stream, const Scalar* scalars,
              MapPool::Launch* pooled) const;

  cu::Kernel kernel_;
  const char* log_;
  std::vector<Slot> slots_;
  std::vector<cu::LaunchAttribute> attributes_;
  std::shared_ptr<MapPools> pools_;
  std::size_t bytes_ = 0, pointers_ = 0;
  bool pooled_ = false;  // whether a tensor map is passed by its address
  mutable std::mutex preparing_;
  mutable std::array<std::atomic<const OnDevice*>, 64> devices_{};
};

}  // namespace pyptx
