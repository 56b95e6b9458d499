// Tensor maps: what to encode, and a pool of encoded ones in device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "append_table.h"
#include "driver.h"

namespace pyptx {

constexpr unsigned kMaxRank = 5;

// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, innermost dimension first, as the driver has them.
// pyptx_launch.TensorMap checks their rules before it makes one.
struct MapArguments {
  struct Im2col {
    int lower[kMaxRank], upper[kMaxRank];
    unsigned channels, pixels;
  };

  int type;
  unsigned rank;
  std::uint64_t shape[kMaxRank], strides[kMaxRank];
  unsigned box[kMaxRank], element_strides[kMaxRank];
  int interleave, swizzle, promotion, fill;
  unsigned alignment;  // of the address, in bytes
  std::optional<Im2col> im2col;

  void check_address(cu::Address address) const;
  cu::TensorMap encode(cu::Address address) const;
};

// Encoded maps in the memory of one device, by their content. Each is written once, before its address is handed out,
// and stays as it is until the pool dies: kernels in flight, other streams and captured graphs may read it.
class MapPool {
 public:
  ~MapPool();

  // Return the device address of a copy; needs the device's context to be current.
  cu::Address address_of(const cu::TensorMap& map);

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t hash;
    cu::TensorMap map;
    cu::Address address;
  };

  std::unique_ptr<Entry> upload(std::uint64_t hash, const cu::TensorMap& map);

  AppendTable<Entry> entries_;
  std::vector<cu::Address> slabs_;  // written under the table's lock
  unsigned used_ = 0;               // maps in the last slab
};

}  // namespace pyptx
