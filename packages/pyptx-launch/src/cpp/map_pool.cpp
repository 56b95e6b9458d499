#include "map_pool.h"

#include <algorithm>
#include <cstring>

namespace pyptx {
namespace {

constexpr std::size_t kPending = 1024;  // maximum number of launches in flight, as in a stream's queue

bool is_capturing(cu::Stream stream) {
  int status = 0;
  check(driver().stream_is_capturing(stream, &status), "cuStreamIsCapturing", "passing a tensor map by its address");
  return status != 0;
}

}  // namespace

MapPool::Launch::Launch(MapPool& pool, cu::Stream stream) : pool_(pool), lock_(pool.mutex_), stream_(stream) {
  captured_ = is_capturing(stream);
  if (!captured_) ++pool_.launches_;
}

cu::Address MapPool::Launch::address_of(const cu::TensorMap& map) {
  RelaxedCapture relaxed;
  Place& place = pool_.place_of(map);
  if (!captured_) place.launch = pool_.launches_;
  pool_.pinned_ += captured_ && !place.pinned;
  place.pinned = place.pinned || captured_;
  return place.address;
}

void MapPool::Launch::submitted() {
  if (captured_) return;
  RelaxedCapture relaxed;
  cu::Event event = nullptr;
  if (!pool_.events_.empty()) {
    event = pool_.events_.back();
    pool_.events_.pop_back();
  } else {
    check(driver().event_create(&event, cu::kEventDisableTiming), "cuEventCreate");
  }
  pool_.pending_.emplace_back(pool_.launches_, event);
  check(driver().event_record(event, stream_), "cuEventRecord");
  if (pool_.pending_.size() > kPending) pool_.complete(pool_.pending_.front().first);
}

// Return the place that contains the map; if there is none, write the map to a vacant place.
MapPool::Place& MapPool::place_of(const cu::TensorMap& map) {
  auto end = places_.begin() + static_cast<std::ptrdiff_t>(used_);
  auto found = std::find_if(places_.begin(), end, [&](const Place& place) {
    return std::memcmp(place.map.words, map.words, sizeof map.words) == 0;
  });
  if (found != end) return *found;
  Place& place = vacant();
  write(place, map);
  return place;
}

// Return a place that no launch reads: a new place, or the least recently used one.
MapPool::Place& MapPool::vacant() {
  auto older = [](const Place& a, const Place& b) {
    return std::pair(a.pinned, a.launch) < std::pair(b.pinned, b.launch);
  };
  auto end = places_.begin() + static_cast<std::ptrdiff_t>(used_);
  auto oldest = used_ - pinned_ < kCapacity ? end : std::min_element(places_.begin(), end, older);
  if (oldest != end && oldest->launch < launches_) {  // a place of the current launch must not be reused
    complete(oldest->launch);
    return *oldest;
  }
  if (used_ == places_.size()) grow();
  return places_[used_++];
}

void MapPool::grow() {
  cu::Address address = 0;
  check(driver().allocate(&address, kChunk * sizeof(cu::TensorMap)), "cuMemAlloc", "allocating memory for tensor maps");
  chunks_.push_back(address);
  for (std::size_t i = 0; i < kChunk; ++i) places_.push_back({address + i * sizeof(cu::TensorMap), {}});
}

void MapPool::write(Place& place, const cu::TensorMap& map) {
  if (stream_ == nullptr) check(driver().stream_create(&stream_, cu::kStreamNonBlocking), "cuStreamCreate");
  place.map = {};  // if the copy fails, no launch finds an incomplete map
  cu::Result copied = driver().copy_to_device(place.address, &map, sizeof map, stream_);
  cu::Result waited = driver().stream_synchronize(stream_);
  check(copied, "cuMemcpyHtoDAsync", "copying a tensor map to the device");
  check(waited, "cuStreamSynchronize", "copying a tensor map to the device");
  place.map = map;
}

// Wait until all launches up to number `launch` have completed.
void MapPool::complete(std::uint64_t launch) {
  while (!pending_.empty() && pending_.front().first <= launch) {
    check(driver().event_synchronize(pending_.front().second), "cuEventSynchronize", "reusing a tensor map's memory");
    events_.push_back(pending_.front().second);
    pending_.pop_front();
  }
}

MapPool::~MapPool() {
  RelaxedCapture relaxed;
  for (auto& [launch, event] : pending_) events_.push_back(event);
  for (cu::Event event : events_) driver().event_destroy(event);
  for (cu::Address address : chunks_) driver().free(address);
  if (stream_ != nullptr) driver().stream_destroy(stream_);
}

MapPool& MapPools::of(cu::Context context) {
  std::lock_guard lock(mutex_);
  for (auto& [known, pool] : pools_)
    if (known == context) return *pool;
  pools_.emplace_back(context, std::make_unique<MapPool>(context));
  return *pools_.back().second;
}

MapPools::~MapPools() {
  if (pools_.empty()) return;
  cu::Context previous = nullptr;
  driver().context_current(&previous);
  for (auto& [context, pool] : pools_) {
    driver().context_set_current(context);  // the memory belongs to this context; calls fail if it is destroyed
    pool.reset();
  }
  driver().context_set_current(previous);
}

}  // namespace pyptx
