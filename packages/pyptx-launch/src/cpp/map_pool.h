// Encoded tensor maps in device memory, for kernels that take them by address.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver.h"

namespace pyptx {

// The maps of one context, by their content. A place is written once and then read by any number of launches; it is
// written again only when every launch that it was handed out for has completed, and never once a graph has captured
// such a launch. So memory is bounded: by `kCapacity` places and those of captured launches.
class MapPool {
 public:
  explicit MapPool(cu::Context context) : context(context) {}
  ~MapPool();
  MapPool(const MapPool&) = delete;

  // One launch: it holds the pool's lock from the first address to `submitted`. The context is current throughout.
  class Launch {
   public:
    Launch(MapPool& pool, cu::Stream stream);

    // Return the device address of a copy of the map.
    cu::Address address_of(const cu::TensorMap& map);

    // Tell that the driver has taken the launch.
    void submitted();

   private:
    MapPool& pool_;
    std::lock_guard<std::mutex> lock_;
    cu::Stream stream_;
    bool captured_ = false;
  };

  const cu::Context context;

 private:
  static constexpr std::size_t kCapacity = 256, kChunk = 64;  // maps; a chunk is one allocation

  struct Place {
    cu::Address address;
    cu::TensorMap map;
    std::uint64_t launch = 0;  // the last that it was handed out for; 0 for none
    bool pinned = false;       // by a graph
  };

  Place& place_of(const cu::TensorMap& map);
  Place& vacant();
  void grow();
  void write(Place& place, const cu::TensorMap& map);
  void complete(std::uint64_t launch);

  std::mutex mutex_;
  std::deque<Place> places_;  // a deque: places stay where they are as it grows
  std::size_t used_ = 0, pinned_ = 0;
  std::vector<cu::Address> chunks_;
  cu::Stream stream_ = nullptr;  // for copies; the default stream may have been drawn into a capture
  std::uint64_t launches_ = 0;   // so many were begun; the one in hand has this number
  std::deque<std::pair<std::uint64_t, cu::Event>> pending_;  // launches that may be running, and what tells
  std::vector<cu::Event> events_;                            // to be recorded again
};

// The pools of a module's plans, one for each context in which they were launched. Memory is freed when this dies,
// which must not be before the launches are complete.
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
