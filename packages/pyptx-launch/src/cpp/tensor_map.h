// Arguments of the driver functions that encode tensor maps.
#pragma once

#include "driver.h"

namespace pyptx {

// The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col, the innermost dimension first. tensor_maps.py
// checks the hardware's rules and packs the arguments in this layout.
struct MapArguments {
  int type;
  unsigned rank;
  std::uint64_t shape[5], strides[5];
  unsigned box[5], element_strides[5];
  int interleave, swizzle, promotion, fill;
  unsigned alignment;  // required alignment of the tensor's address, in bytes
  int is_im2col;
  int lower[5], upper[5];
  unsigned channels, pixels;

  void check_address(cu::Address address) const;
  cu::TensorMap encode(cu::Address address) const;
};
static_assert(sizeof(MapArguments) == 200);

}  // namespace pyptx
