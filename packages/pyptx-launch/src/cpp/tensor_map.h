// Tensor maps: what to encode, and a pool of encoded ones in device memory.
#pragma once

#include <memory>
#include <vector>

#include "append_table.h"
#include "driver.h"

namespace pyptx {

// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, the innermost dimension first. tensor_maps.py
// checks their rules and packs them in this layout.
struct MapArguments {
  int type;
  unsigned rank;
  std::uint64_t shape[5], strides[5];
  unsigned box[5], element_strides[5];
  int interleave, swizzle, promotion, fill;
  unsigned alignment;  // of the address, in bytes
  int is_im2col;
  int lower[5], upper[5];
  unsigned channels, pixels;

  void check_address(cu::Address address) const;
  cu::TensorMap encode(cu::Address address) const;
};
static_assert(sizeof(MapArguments) == 200);

// Encoded maps in the memory of one device, by their content. Each is written once, before its address is handed out,
// and stays as it is until the pool dies: kernels in flight, other streams and captured graphs may read it.
class MapPool {
 public:
  ~MapPool();

  // Return the device address of a copy; needs the device's context to be current.
  cu::Address address_of(const cu::TensorMap& map);

 private:
  struct Entry {
    std::uint64_t hash;
    cu::TensorMap map;
    cu::Address address;
    Entry* next = nullptr;
  };

  std::unique_ptr<Entry> upload(std::uint64_t hash, const cu::TensorMap& map);

  AppendTable<Entry, 64> entries_;
  std::vector<cu::Address> allocations_;  // written under the table's lock
};

}  // namespace pyptx
