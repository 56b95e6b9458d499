#include "tensor_map.h"

#include <cstring>

namespace pyptx {
namespace {

// Copy on a stream of our own, and wait: the default stream may have been drawn into a capture.
void copy(cu::Address to, const void* from, std::size_t bytes) {
  cu::Stream stream = nullptr;
  check(driver().stream_create(&stream, cu::kStreamNonBlocking), "cuStreamCreate");
  cu::Result copied = driver().copy_to_device(to, from, bytes, stream);
  cu::Result waited = driver().stream_synchronize(stream);
  driver().stream_destroy(stream);
  check(copied, "cuMemcpyHtoDAsync", "copying a tensor map to the device");
  check(waited, "cuStreamSynchronize", "copying a tensor map to the device");
}

}  // namespace

void MapArguments::check_address(cu::Address address) const {
  if (address % alignment == 0) return;
  throw Failure("TensorMapError", "tensor map: the tensor's address is " + std::to_string(address) +
                                      "; it must be a multiple of " + std::to_string(alignment));
}

cu::TensorMap MapArguments::encode(cu::Address address) const {
  check_address(address);
  cu::TensorMap map{};
  if (is_im2col)
    check(driver().encode_im2col(&map, type, rank, address, shape, strides, lower, upper, channels, pixels,
                                 element_strides, interleave, swizzle, promotion, fill),
          "cuTensorMapEncodeIm2col", "encoding a tensor map");
  else
    check(driver().encode_tiled(&map, type, rank, address, shape, strides, box, element_strides, interleave, swizzle,
                                promotion, fill),
          "cuTensorMapEncodeTiled", "encoding a tensor map");
  return map;
}

cu::Address MapPool::address_of(const cu::TensorMap& map) {
  std::uint64_t hash = hash_of(map.words, 16);
  auto matches = [&](const Entry& entry) { return std::memcmp(entry.map.words, map.words, sizeof map.words) == 0; };
  if (const Entry* found = entries_.find(hash, matches)) return found->address;
  return entries_.add(hash, matches, [&] { return upload(hash, map); })->address;
}

std::unique_ptr<MapPool::Entry> MapPool::upload(std::uint64_t hash, const cu::TensorMap& map) {
  RelaxedCapture relaxed;
  cu::Address address = 0;
  check(driver().allocate(&address, sizeof map), "cuMemAlloc", "making room for a tensor map");
  allocations_.push_back(address);
  copy(address, &map, sizeof map);
  return std::make_unique<Entry>(Entry{hash, map, address});
}

MapPool::~MapPool() {
  RelaxedCapture relaxed;
  for (cu::Address address : allocations_) driver().free(address);
}

}  // namespace pyptx
