#include "plan.h"

#include <algorithm>
#include <cstring>

#include "failure.h"

namespace pyptx {
namespace {

constexpr unsigned kDefaultShared = 48 * 1024;  // what every device grants without being asked
constexpr unsigned kPortableCluster = 8;        // blocks
constexpr unsigned kMaxGrid[] = {2147483647, 65535, 65535};

std::string text(const unsigned (&extents)[3]) {
  return "(" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " + std::to_string(extents[2]) + ")";
}

std::uint64_t volume(const unsigned (&extents)[3]) { return std::uint64_t{1} * extents[0] * extents[1] * extents[2]; }

[[noreturn]] void refuse(const std::string& entry, const std::string& message) {
  throw Failure("LaunchError", entry + ": " + message);
}

unsigned bytes_of(const Slot& slot) {
  switch (slot.kind) {
    case SlotKind::scalar: return slot.type->bytes;
    case SlotKind::map: return sizeof(cu::TensorMap);
    default: return sizeof(cu::Address);
  }
}

}  // namespace

std::string Slot::described() const {
  switch (kind) {
    case SlotKind::pointer: return "the address of tensor " + std::to_string(index);
    case SlotKind::scalar: return std::string("scalar ") + name + " of type " + type->name;
    case SlotKind::map: return "the tensor map of tensor " + std::to_string(index);
    default: return "the address of a tensor map of tensor " + std::to_string(index);
  }
}

Plan::Plan(std::shared_ptr<Module> module, std::string entry, const Shape& shape, std::vector<Slot> slots,
           std::vector<cu::LaunchAttribute> attributes)
    : module_(std::move(module)), entry_(std::move(entry)), shape_(shape), slots_(std::move(slots)),
      attributes_(std::move(attributes)) {
  check_shape();
  if (volume(shape_.cluster) > 1) {
    cu::LaunchAttribute cluster{cu::kClusterDimension, {}, {}};
    std::memcpy(cluster.value, shape_.cluster, sizeof shape_.cluster);
    attributes_.push_back(cluster);
  }
  for (unsigned i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.bytes = bytes_of(slot);
    slot.alignment = slot.kind == SlotKind::map ? alignof(cu::TensorMap) : slot.bytes;
    slot.offset = (bytes_ + slot.alignment - 1) / slot.alignment * slot.alignment;
    bytes_ = slot.offset + slot.bytes;
    if (slot.kind == SlotKind::scalar) scalars_.push_back(i);
    else pointers_ = std::max<std::size_t>(pointers_, slot.index + std::size_t{1});
  }
  check_parameters();
}

Plan::~Plan() {
  for (auto& device : devices_) {
    const OnDevice* state = device.load(std::memory_order_acquire);
    if (state == nullptr) continue;
    cu::Context previous = nullptr;
    driver().context_current(&previous);
    driver().context_set_current(state->context);  // the pool's memory belongs to it
    delete state;
    driver().context_set_current(previous);
  }
}

void Plan::check_shape() const {
  for (int axis = 0; axis < 3; ++axis) {
    unsigned grid = shape_.grid[axis], cluster = shape_.cluster[axis];
    if (grid == 0) refuse(entry_, "grid " + text(shape_.grid) + " has no blocks; launch nothing instead");
    if (grid > kMaxGrid[axis])
      refuse(entry_, "grid " + text(shape_.grid) + " exceeds the largest, " + text(kMaxGrid));
    if (shape_.block[axis] == 0) refuse(entry_, "block " + text(shape_.block) + " has no threads");
    if (cluster == 0 || grid % cluster != 0)
      refuse(entry_, "cluster " + text(shape_.cluster) + " does not divide grid " + text(shape_.grid));
  }
  bool twice = std::any_of(attributes_.begin(), attributes_.end(),
                           [](const cu::LaunchAttribute& each) { return each.id == cu::kClusterDimension; });
  if (twice) refuse(entry_, "the cluster is set by cluster=, not by a launch attribute");
}

void Plan::check_parameters() {
  auto wanted = module_->parameters(entry_);
  if (driver().kernel_parameter == nullptr) return;
  if (wanted.size() != slots_.size())
    refuse(entry_, "it has " + std::to_string(wanted.size()) + " parameters, and the plan " +
                       std::to_string(slots_.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i].size != slots_[i].bytes)
      refuse(entry_, "its parameter " + std::to_string(i) + " has " + std::to_string(wanted[i].size) + " bytes, and " +
                         slots_[i].described() + " has " + std::to_string(slots_[i].bytes));
}

// Raise the entry's limit of dynamic shared memory as far as the device goes: plans of one entry that ask for less must
// not lower it again.
void Plan::prepare_shared(int device) const {
  unsigned fixed = module_->attribute(cu::kStaticShared, entry_, device);
  unsigned most = device_attribute(cu::kSharedOptin, device);
  if (std::uint64_t{fixed} + shape_.shared_bytes > most)
    refuse(entry_, "a block asks for " + std::to_string(std::uint64_t{fixed} + shape_.shared_bytes) +
                       " bytes of shared memory (" + std::to_string(shape_.shared_bytes) + " of them dynamic), and device " +
                       std::to_string(device) + " has " + std::to_string(most) + " for a block");
  if (fixed + shape_.shared_bytes <= kDefaultShared) return;
  check(driver().kernel_set_attribute(cu::kMaxDynamicShared, static_cast<int>(most - fixed), module_->kernel(entry_),
                                      device),
        "cuKernelSetAttribute", entry_ + ": raising the limit of dynamic shared memory");
}

void Plan::prepare_cluster(int device) const {
  std::uint64_t blocks = volume(shape_.cluster);
  if (blocks == 1) return;
  if (device_attribute(cu::kClusterLaunch, device) == 0)
    refuse(entry_, "device " + std::to_string(device) + " has no clusters, and the plan has one of " +
                       text(shape_.cluster) + "; they need compute capability 9.0");
  if (blocks <= kPortableCluster) return;
  check(driver().kernel_set_attribute(cu::kNonPortableClusterAllowed, 1, module_->kernel(entry_), device),
        "cuKernelSetAttribute", entry_ + ": allowing a cluster of " + std::to_string(blocks) + " blocks");
}

const Plan::OnDevice& Plan::on(int device, const cu::Address* pointers) const {
  if (device >= 0 && device < kMaxDevices)
    if (const OnDevice* ready = devices_[device].load(std::memory_order_acquire)) return *ready;
  cu::Context context = primary_context(device);  // refuses a device that is not there
  std::lock_guard lock(preparing_);
  if (const OnDevice* ready = devices_[device].load(std::memory_order_relaxed)) return *ready;
  const OnDevice* made = prepare(device, context, pointers);
  devices_[device].store(made, std::memory_order_release);
  return *made;
}

const Plan::OnDevice* Plan::prepare(int device, cu::Context context, const cu::Address* pointers) const {
  ContextScope scope(context);
  RelaxedCapture relaxed;  // loading code allocates
  auto state = std::make_unique<OnDevice>();
  state->context = context;
  state->function = module_->function(entry_);
  std::uint64_t threads = volume(shape_.block);
  unsigned most = module_->attribute(cu::kMaxThreadsPerBlock, entry_, device);
  if (threads > most)
    refuse(entry_, "block " + text(shape_.block) + " has " + std::to_string(threads) + " threads, and this entry runs with " +
                       std::to_string(most) + " at most (its registers and .maxntid decide)");
  prepare_shared(device);
  prepare_cluster(device);
  for (const Slot& slot : slots_)
    if (slot.map) state->maps.push_back(slot.map->encode(pointers[slot.index]));
  return state.release();
}

void Plan::write(unsigned char* block, const OnDevice& state, const cu::Address* pointers,
                 const Scalar* scalars) const {
  const cu::TensorMap* encoded = state.maps.data();
  for (const Slot& slot : slots_) {
    unsigned char* to = block + slot.offset;
    if (slot.kind == SlotKind::pointer) {
      std::memcpy(to, &pointers[slot.index], sizeof(cu::Address));
      continue;
    }
    if (slot.kind == SlotKind::scalar) {
      const Scalar& value = scalars != nullptr && scalars->given ? *scalars : slot.value;
      if (!value.given) refuse(entry_, "scalar " + slot.name + " has no value");
      std::memcpy(to, value.bytes, slot.bytes);
      if (scalars != nullptr) ++scalars;
      continue;
    }
    slot.map->check_address(pointers[slot.index]);
    cu::TensorMap map = *encoded++;
    check(driver().replace_address(&map, pointers[slot.index]), "cuTensorMapReplaceAddress");
    if (slot.kind == SlotKind::map) {
      std::memcpy(to, &map, sizeof map);
    } else {
      cu::Address address = state.pool.address_of(map);
      std::memcpy(to, &address, sizeof address);
    }
  }
}

void Plan::launch(const cu::Address* pointers, std::size_t count, cu::Stream stream, int device,
                  const Scalar* scalars) const {
  if (count < pointers_)
    refuse(entry_, "it takes the addresses of " + std::to_string(pointers_) + " tensors, and was given " +
                       std::to_string(count));
  const OnDevice& state = on(device, pointers);
  ContextScope scope(state.context);
  alignas(64) unsigned char stack[kStackBytes];
  std::unique_ptr<cu::TensorMap[]> heap;  // for its alignment
  std::size_t table = (bytes_ + 7) / 8 * 8, needed = table + slots_.size() * sizeof(void*);
  if (needed > kStackBytes) heap.reset(new cu::TensorMap[needed / sizeof(cu::TensorMap) + 1]);
  unsigned char* block = heap ? reinterpret_cast<unsigned char*>(heap.get()) : stack;
  write(block, state, pointers, scalars);
  auto parameters = reinterpret_cast<void**>(block + table);
  for (std::size_t i = 0; i < slots_.size(); ++i) parameters[i] = block + slots_[i].offset;
  cu::LaunchConfig config{{shape_.grid[0], shape_.grid[1], shape_.grid[2]},
                          {shape_.block[0], shape_.block[1], shape_.block[2]},
                          shape_.shared_bytes,
                          stream,
                          attributes_.data(),
                          static_cast<unsigned>(attributes_.size())};
  cu::Result result = driver().launch(&config, state.function, parameters, nullptr);
  if (result != cu::kSuccess) check(result, "cuLaunchKernelEx", "launching " + entry_);
}

std::size_t Plan::pooled_maps(int device) const {
  if (device < 0 || device >= kMaxDevices) return 0;
  const OnDevice* state = devices_[device].load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->pool.size();
}

}  // namespace pyptx
