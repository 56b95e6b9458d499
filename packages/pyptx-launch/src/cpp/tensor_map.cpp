#include "tensor_map.h"

#include <string>

namespace pyptx {

void MapArguments::check_address(cu::Address address) const {
  if (address % alignment == 0) return;
  throw Failure("TensorMapError", "tensor map: the tensor's address must be a multiple of " +
                                      std::to_string(alignment) + ", got " + std::to_string(address));
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

}  // namespace pyptx
