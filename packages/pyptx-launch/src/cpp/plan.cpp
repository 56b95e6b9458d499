#include "plan.h"

#include <algorithm>
#include <cstring>

namespace pyptx {
namespace {

constexpr unsigned kDefaultShared = 48 * 1024;  // bytes per CTA that need no opt-in on any device
constexpr unsigned kPortableCluster = 8;        // CTAs; larger clusters need an opt-in

std::string text(std::uint64_t number) { return std::to_string(number); }

std::uint64_t volume(const unsigned* extents) { return std::uint64_t{1} * extents[0] * extents[1] * extents[2]; }

}  // namespace

Plan::Plan(cu::Kernel kernel, const char* log, std::string entry, const std::array<unsigned, 10>& shape,
           std::vector<Slot> slots, std::vector<cu::LaunchAttribute> attributes, std::shared_ptr<MapPools> pools)
    : entry(std::move(entry)), shape(shape), kernel_(kernel), log_(log), slots_(std::move(slots)),
      attributes_(std::move(attributes)), pools_(std::move(pools)) {
  for (Slot& slot : slots_) {
    bool scalar = slot.kind == SlotKind::scalar;
    slot.bytes = scalar ? slot.type.bytes : slot.kind == SlotKind::map ? sizeof(cu::TensorMap) : sizeof(cu::Address);
    slot.offset = (bytes_ + slot.bytes - 1) / slot.bytes * slot.bytes;
    bytes_ = slot.offset + slot.bytes;
    pooled_ = pooled_ || slot.kind == SlotKind::map_pointer;
    if (scalar) scalars.push_back(&slot);
    else pointers_ = std::max<std::size_t>(pointers_, slot.index + std::size_t{1});
  }
}

Plan::~Plan() {
  for (auto& device : devices_) delete device.load(std::memory_order_acquire);
}

const Plan::OnDevice& Plan::on(int device, const cu::Address* pointers) const {
  bool possible = device >= 0 && device < static_cast<int>(devices_.size());
  const OnDevice* ready = possible ? devices_[device].load(std::memory_order_acquire) : nullptr;
  if (ready != nullptr) return *ready;
  primary_context(device);  // throws for a device that does not exist
  std::lock_guard lock(preparing_);
  if (devices_[device].load(std::memory_order_relaxed) == nullptr)
    devices_[device].store(prepare(device, pointers).release(), std::memory_order_release);
  return *devices_[device].load(std::memory_order_relaxed);
}

// Load the code into the current context. Loading at the launch itself could fall into a stream capture.
void Plan::load() const {
  cu::Function function = nullptr;
  try {
    check(driver().kernel_function(&function, kernel_), "cuKernelGetFunction", "loading " + entry);
  } catch (Failure& failure) {
    if (log_ == nullptr || *log_ == '\0') throw;
    failure.kind = "CompileError";
    failure.log = log_;
    throw;
  }
}

int Plan::attribute(int attribute, int device) const {
  int value = 0;
  check(driver().kernel_attribute(&value, attribute, kernel_, device), "cuKernelGetAttribute", "preparing " + entry);
  return value;
}

std::unique_ptr<Plan::OnDevice> Plan::prepare(int device, const cu::Address* pointers) const {
  auto state = std::make_unique<OnDevice>();
  state->context = primary_context(device);
  ContextScope scope(state->context);
  RelaxedCapture relaxed;
  load();
  unsigned fixed = attribute(cu::kStaticShared, device), most = device_attribute(cu::kSharedOptin, device);
  check_limits(device, fixed, most);
  auto set = [&](int attribute, int value) {
    cu::Result result = driver().kernel_set_attribute(attribute, value, kernel_, device);
    check(result, "cuKernelSetAttribute", "preparing " + entry);
  };
  // Set the device's maximum, because the limit is shared: another plan of the entry could otherwise lower it.
  if (fixed + shape[9] > kDefaultShared) set(cu::kMaxDynamicShared, static_cast<int>(most - fixed));
  if (volume(&shape[6]) > kPortableCluster) set(cu::kNonPortableClusterAllowed, 1);
  for (const Slot& slot : slots_)
    if (slot.map) state->maps.push_back(slot.map->encode(pointers[slot.index]));
  return state;
}

void Plan::check_limits(int device, unsigned fixed, unsigned most) const {
  std::uint64_t shared = std::uint64_t{fixed} + shape[9], threads = volume(&shape[3]);
  unsigned most_threads = attribute(cu::kMaxThreads, device);
  auto refuse = [&](const std::string& what) { throw Failure("LaunchError", entry + ": " + what); };
  if (threads > most_threads)
    refuse("block has " + text(threads) + " threads; the limit of this entry is " + text(most_threads) +
           " (its registers and .maxntid)");
  if (shared > most)
    refuse("CTA needs " + text(shared) + " bytes of shared memory (" + text(shape[9]) +
           " dynamic); the limit of device " + text(device) + " is " + text(most));
  if (volume(&shape[6]) > 1 && device_attribute(cu::kClusterLaunch, device) == 0)
    refuse("cluster of " + text(volume(&shape[6])) + " CTAs: device " + text(device) +
           " does not support clusters (compute capability 9.0 or later)");
}

void Plan::write(unsigned char* block, const OnDevice& state, const cu::Address* pointers, const Scalar* scalars,
                 MapPool::Launch* pooled) const {
  const cu::TensorMap* encoded = state.maps.data();
  for (const Slot& slot : slots_) {
    unsigned char* to = block + slot.offset;
    if (slot.kind == SlotKind::pointer) {
      std::memcpy(to, &pointers[slot.index], sizeof(cu::Address));
    } else if (slot.kind == SlotKind::scalar) {
      const Scalar& value = scalars != nullptr && scalars->given ? *scalars : slot.value;
      if (!value.given) throw Failure("LaunchError", entry + ": missing value of a scalar without a default");
      std::memcpy(to, value.bytes, slot.bytes);
      if (scalars != nullptr) ++scalars;
    } else {
      slot.map->check_address(pointers[slot.index]);
      cu::TensorMap map = *encoded++;
      check(driver().replace_address(&map, pointers[slot.index]), "cuTensorMapReplaceAddress");
      cu::Address address = slot.kind == SlotKind::map ? 0 : pooled->address_of(map);
      std::memcpy(to, address == 0 ? static_cast<const void*>(&map) : &address, slot.bytes);
    }
  }
}

void Plan::launch(const cu::Address* pointers, std::size_t count, cu::Stream stream, int device,
                  const Scalar* scalars) const {
  if (count < pointers_)
    throw Failure("LaunchError", entry + ": expected " + text(pointers_) + " tensor addresses, got " + text(count));
  const OnDevice& state = on(device, pointers);
  if (!pooled_) {
    ContextScope scope(state.context, stream);
    return submit(state, pointers, stream, scalars, nullptr);
  }
  MapPool& maps = pool(state, stream);
  ContextScope scope(maps.context);
  MapPool::Launch pooled(maps, stream);
  submit(state, pointers, stream, scalars, &pooled);
  pooled.submitted();
}

// Return the pool of tensor maps of the context in which a stream's launches run.
MapPool& Plan::pool(const OnDevice& state, cu::Stream stream) const {
  cu::Context context = state.context;
  if (!cu::is_default(stream)) check(driver().stream_context(stream, &context), "cuStreamGetCtx", "launching " + entry);
  return pools_->of(context);
}

void Plan::submit(const OnDevice& state, const cu::Address* pointers, cu::Stream stream, const Scalar* scalars,
                  MapPool::Launch* pooled) const {
  // Usually less than 100 bytes, at most 32 KiB for each array: plans.py rejects larger parameter blocks.
  auto block = static_cast<unsigned char*>(__builtin_alloca_with_align(bytes_ + 1, 8 * alignof(cu::TensorMap)));
  auto parameters = static_cast<void**>(__builtin_alloca((slots_.size() + 1) * sizeof(void*)));
  write(block, state, pointers, scalars, pooled);
  for (std::size_t i = 0; i < slots_.size(); ++i) parameters[i] = block + slots_[i].offset;
  cu::LaunchConfig config{{shape[0], shape[1], shape[2]}, {shape[3], shape[4], shape[5]}, shape[9], stream,
                          attributes_.data(), static_cast<unsigned>(attributes_.size())};
  // A CUkernel passed as CUfunction runs in the context of the stream, or on a default stream in the current context
  // (CUDA driver API, "Execution Control": cuLaunchKernelEx).
  auto function = reinterpret_cast<cu::Function>(kernel_);
  cu::Result result = driver().launch(&config, function, parameters, nullptr);
  if (result != cu::kSuccess) check(result, "cuLaunchKernelEx", "launching " + entry);
}

}  // namespace pyptx
