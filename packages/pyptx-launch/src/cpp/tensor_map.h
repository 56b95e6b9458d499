// Tensor maps: what to encode.
#pragma once

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

}  // namespace pyptx
