// A launch plan: everything that a launch needs except addresses, stream, device and scalars, which a call passes.
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

enum class ScalarKind : std::uint8_t { bits, is_unsigned, is_signed, is_float, is_bfloat };  // _KINDS in parameters.py

struct ScalarType { ScalarKind kind; std::uint8_t bytes; };
struct Scalar { bool given = false; unsigned char bytes[8]; };

// Write a Python number to `to`, little-endian; floating-point types round to nearest even. Returns false and sets a
// Python exception for a value that is not a number (TypeError) or out of range (OverflowError). See scalars.cpp.
bool convert(ScalarType type, PyObject* value, Scalar& to);

enum class SlotKind : std::uint8_t { pointer, scalar, map, map_pointer };  // row_of in parameters.py

// One parameter of the kernel entry.
struct Slot {
  SlotKind kind;
  unsigned index = 0;               // of the tensor whose address or tensor map is passed; not for scalars
  ScalarType type{};                // type of a scalar
  Scalar value{};                   // default of a scalar, used if a launch passes no value
  std::optional<MapArguments> map;  // arguments of a tensor map, passed by value or by pointer
  unsigned bytes = 0, offset = 0;   // size, and offset in the parameter block; computed by Plan
};

// Immutable, except for the state of each device, which the first launch there creates and publishes atomically.
// Any number of threads may launch a plan at once without locks: each launch builds its parameters on the stack.
class Plan {
 public:
  // `log`: null, or the error log of the driver's PTX compiler, which may run as late as at the first launch.
  Plan(cu::Kernel kernel, const char* log, std::string entry, const std::array<unsigned, 10>& shape,
       std::vector<Slot> slots, std::vector<cu::LaunchAttribute> attributes, std::shared_ptr<MapPools> pools);
  ~Plan();

  // Launch on a stream of any context of a device; default streams belong to the primary context. `pointers` are the
  // addresses of the tensors, by index. `scalars` is null (all defaults) or has a value for each scalar parameter, in
  // order; the plan's default replaces a value that is not `given`. The context that was current before the launch is
  // current again afterwards.
  void launch(const cu::Address* pointers, std::size_t count, cu::Stream stream, int device,
              const Scalar* scalars = nullptr) const;

  std::size_t pointers() const { return pointers_; }  // number of tensor addresses that a launch needs

  const std::string entry;
  const std::array<unsigned, 10> shape;  // grid, block, cluster, bytes of dynamic shared memory
  std::vector<const Slot*> scalars;

 private:
  struct OnDevice {
    cu::Context context;              // primary context of the device
    std::vector<cu::TensorMap> maps;  // of slots with tensor maps, in order; each launch replaces their addresses
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
  bool pooled_ = false;  // whether any tensor map is passed by pointer
  mutable std::mutex preparing_;
  mutable std::array<std::atomic<const OnDevice*>, 64> devices_{};
};

}  // namespace pyptx
