// A plan: everything about a launch but the addresses, the stream and the values that change from call to call.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "driver.h"
#include "module.h"
#include "scalars.h"
#include "tensor_map.h"

namespace pyptx {

enum class SlotKind : std::uint8_t { pointer, scalar, map, map_pointer };

// One parameter of the entry.
struct Slot {
  SlotKind kind;
  unsigned index = 0;                   // of the tensor whose address it takes; not for scalars
  const ScalarType* type = nullptr;     // of a scalar
  std::string name;                     // of a scalar
  Scalar value;                         // of a scalar; what is used when the call gives none
  std::optional<MapArguments> map;      // of a tensor map, by value or by pointer
  unsigned bytes = 0, alignment = 0, offset = 0;  // set by the plan

  std::string described() const;
};

struct Shape {
  unsigned grid[3], block[3], cluster[3], shared_bytes;
};

// Immutable, but for what it knows of each device, which is made at the first launch there and published atomically.
// Any number of threads may launch it at once, without locks: parameters are put together on the stack.
class Plan {
 public:
  // Throws LaunchError where grid, block or cluster are impossible, or the parameters are not the entry's.
  Plan(std::shared_ptr<Module> module, std::string entry, const Shape& shape, std::vector<Slot> slots,
       std::vector<cu::LaunchAttribute> attributes);
  ~Plan();

  // Launch on a stream of a device. `pointers` are the addresses of the tensors, in the order of their indexes;
  // `scalars` is null, or one for each scalar parameter, in order, those not given standing for the plan's own values.
  // The device's primary context is current during the call, and what was current before is again afterwards.
  void launch(const cu::Address* pointers, std::size_t count, cu::Stream stream, int device,
              const Scalar* scalars = nullptr) const;

  std::size_t pointers() const { return pointers_; }  // how many addresses a launch takes
  const std::vector<unsigned>& scalars() const { return scalars_; }  // which slots are scalars
  const std::vector<Slot>& slots() const { return slots_; }
  const std::string& entry() const { return entry_; }
  const Shape& shape() const { return shape_; }
  std::size_t pooled_maps(int device) const;

 private:
  struct OnDevice {
    cu::Context context;
    cu::Function function;
    std::vector<cu::TensorMap> maps;  // of the slots with maps, in order; their addresses are replaced at each launch
    mutable MapPool pool;
  };

  static constexpr std::size_t kStackBytes = 4096;  // of parameters; entries with more are rare, and pay an allocation
  static constexpr int kMaxDevices = 64;

  void check_parameters();
  void check_shape() const;
  void prepare_shared(int device) const;
  void prepare_cluster(int device) const;
  const OnDevice& on(int device, const cu::Address* pointers) const;
  const OnDevice* prepare(int device, cu::Context context, const cu::Address* pointers) const;
  void write(unsigned char* block, const OnDevice& state, const cu::Address* pointers, const Scalar* scalars) const;

  std::shared_ptr<Module> module_;
  std::string entry_;
  Shape shape_;
  std::vector<Slot> slots_;
  std::vector<cu::LaunchAttribute> attributes_;
  std::vector<unsigned> scalars_;
  std::size_t pointers_ = 0, bytes_ = 0;
  mutable std::mutex preparing_;
  mutable std::array<std::atomic<const OnDevice*>, kMaxDevices> devices_{};
};

}  // namespace pyptx
