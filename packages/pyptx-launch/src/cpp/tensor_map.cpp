#include "tensor_map.h"

#include <cstring>

#include "failure.h"

namespace pyptx {
namespace {

constexpr unsigned kMapsPerSlab = 512;  // 64 KiB

std::uint64_t hash_of(const cu::TensorMap& map) {
  std::uint64_t hash = 0;
  for (std::uint64_t word : map.opaque) hash = mix(hash, word);
  return hash;
}

bool same(const cu::TensorMap& one, const cu::TensorMap& other) {
  return std::memcmp(one.opaque, other.opaque, sizeof one.opaque) == 0;
}

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
  if (address % alignment != 0)
    throw Failure("TensorMapError", "address " + std::to_string(address) + " of a tensor with a tensor map is not a "
                                        "multiple of " + std::to_string(alignment));
}

cu::TensorMap MapArguments::encode(cu::Address address) const {
  check_address(address);
  cu::TensorMap map{};
  if (!im2col) {
    check(driver().encode_tiled(&map, type, rank, address, shape, strides, box, element_strides, interleave, swizzle,
                                promotion, fill),
          "cuTensorMapEncodeTiled");
    return map;
  }
  check(driver().encode_im2col(&map, type, rank, address, shape, strides, im2col->lower, im2col->upper,
                               im2col->channels, im2col->pixels, element_strides, interleave, swizzle, promotion, fill),
        "cuTensorMapEncodeIm2col");
  return map;
}

cu::Address MapPool::address_of(const cu::TensorMap& map) {
  std::uint64_t hash = hash_of(map);
  auto matches = [&](const Entry& entry) { return same(entry.map, map); };
  if (const Entry* found = entries_.find(hash, matches)) return found->address;
  return entries_.add(hash, matches, [&] { return upload(hash, map); })->address;
}

std::unique_ptr<MapPool::Entry> MapPool::upload(std::uint64_t hash, const cu::TensorMap& map) {
  RelaxedCapture relaxed;
  if (slabs_.empty() || used_ == kMapsPerSlab) {
    cu::Address slab = 0;
    check(driver().allocate(&slab, kMapsPerSlab * sizeof map), "cuMemAlloc", "making room for tensor maps");
    slabs_.push_back(slab);
    used_ = 0;
  }
  cu::Address address = slabs_.back() + used_ * sizeof map;
  copy(address, &map, sizeof map);
  ++used_;
  return std::make_unique<Entry>(Entry{hash, map, address});
}

MapPool::~MapPool() {
  if (slabs_.empty()) return;
  int mode = cu::kCaptureModeRelaxed;
  driver().exchange_capture_mode(&mode);
  for (cu::Address slab : slabs_) driver().free(slab);
  driver().exchange_capture_mode(&mode);
}

}  // namespace pyptx
