// What a tensor must look like for a specialisation.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "append_table.h"
#include "dlpack.h"

namespace pyptx {

struct Signature {
  // From an object with shape, strides, dtype, device and alignment (pyptx_launch.Signature).
  explicit Signature(nanobind::handle row);

  bool matches(const dl::Tensor& tensor) const;
  bool operator==(const Signature& other) const;

  dl::Device device;
  dl::DataType dtype;
  std::uint64_t alignment;
  std::vector<std::int64_t> shape, strides;  // strides in elements; of extents of one, zero: no element has a neighbour
  bool contiguous;
};

// Hash all that `matches` compares, but for the address: equal for a signature's tensor and for the signature.
std::uint64_t mix_tensor(std::uint64_t hash, const dl::Tensor& tensor);
std::uint64_t mix_signature(std::uint64_t hash, const Signature& signature);

}  // namespace pyptx
