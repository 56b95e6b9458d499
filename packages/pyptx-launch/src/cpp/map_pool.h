// Encoded tensor maps in device memory, for kernels that take a tensor map by pointer.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver.h"

namespace pyptx {

// The tensor maps of one context, found by their content. A place (memory of one map) is written once and then read by
// any number of launches. It is overwritten only when all launches that use it have completed, and never after a graph
// has captured such a launch. So the pool has at most `kCapacity` places, plus the places of captured launches.
class MapPool {
 public:
  explicit MapPool(cu::Context context) : context(context) {}
  ~MapPool();
  MapPool(const MapPool&) = delete;

  // One launch, which locks the pool until it is destroyed; the pool's context must be current for as long.
  class Launch {
   public:
    Launch(MapPool& pool, cu::Stream stream);

    // Return the device address of a copy of a tensor map.
    cu::Address address_of(const cu::TensorMap& map);

    // Record an event after the launch; call this when the driver has accepted the launch.
    void submitted();

   private:
    MapPool& pool_;
    std::lock_guard<std::mutex> lock_;
    cu::Stream stream_;
    bool captured_ = false;
  };

  const cu::Context context;

 private:
  static constexpr std::size_t kCapacity = 256, kChunk = 64;  // tensor maps per pool, and per device allocation

  struct Place {
    cu::Address address;
    cu::TensorMap map;
    std::uint64_t launch = 0;  // number of the last launch that uses the map; 0: none
    bool pinned = false;       // used by a captured graph
  };

  Place& place_of(const cu::TensorMap& map);
  Place& vacant();
  void grow();
  void write(Place& place, const cu::TensorMap& map);
  void complete(std::uint64_t launch);

  std::mutex mutex_;
  std::deque<Place> places_;  // a deque: references to places stay valid when it grows
  std::size_t used_ = 0, pinned_ = 0;
  std::vector<cu::Address> chunks_;
  cu::Stream stream_ = nullptr;  // for copies; the default stream may be part of a capture
  std::uint64_t launches_ = 0;   // number of launches so far, and the current one's number
  std::deque<std::pair<std::uint64_t, cu::Event>> pending_;  // launches that may be running, and their events
  std::vector<cu::Event> events_;                            // unused, to be recorded again
};

// The pools of a module's plans, one for each context in which the plans were launched. The destructor frees the device
// memory, so it must not run before the launches have completed.
class MapPools {
 public:
  MapPools() = default;
  ~MapPools();
  MapPools(const MapPools&) = delete;

  MapPool& of(cu::Context context);

 private:
  std::mutex mutex_;
  std::vector<std::pair<cu::Context, std::unique_ptr<MapPool>>> pools_;
};

}  // namespace pyptx
