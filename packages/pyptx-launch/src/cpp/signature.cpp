#include "signature.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "failure.h"

namespace nb = nanobind;

namespace pyptx {
namespace {

dl::DataType type_named(const std::string& name) {
  for (const dl::NamedType& row : dl::kTypes)
    if (name == row.name) return row.type;
  throw Failure("LaunchError", "tensors of type " + name + " cannot be told by DLPack");
}

// Call `visit(extent, stride)` for every dimension, outermost first.
template <typename Visit>
void each_dimension(const dl::Tensor& tensor, Visit visit) {
  std::int64_t contiguous = 1;
  if (tensor.strides == nullptr)
    for (std::int32_t i = 0; i < tensor.rank; ++i) contiguous *= tensor.shape[i];
  for (std::int32_t i = 0; i < tensor.rank; ++i) {
    std::int64_t extent = tensor.shape[i];
    if (tensor.strides == nullptr && extent != 0) contiguous /= extent;
    visit(extent, extent == 1 ? 0 : tensor.strides != nullptr ? tensor.strides[i] : contiguous);
  }
}

std::uint64_t mix_head(std::uint64_t hash, dl::Device device, dl::DataType dtype, std::size_t rank) {
  hash = mix(hash, std::uint64_t(std::uint32_t(device.type)) << 32 | std::uint32_t(device.id));
  return mix(hash, std::uint64_t{rank} << 32 | std::uint64_t{dtype.lanes} << 16 | dtype.bits << 8 | dtype.code);
}

}  // namespace

Signature::Signature(nb::handle row)
    : dtype(type_named(nb::cast<std::string>(row.attr("dtype")))),
      alignment(nb::cast<std::uint64_t>(row.attr("alignment"))),
      shape(nb::cast<std::vector<std::int64_t>>(row.attr("shape"))) {
  auto [type, id] = nb::cast<std::pair<std::int32_t, std::int32_t>>(row.attr("device"));
  device = {type, id};
  if (alignment == 0) throw Failure("LaunchError", "a tensor's alignment is at least 1");
  if (!row.attr("strides").is_none()) strides = nb::cast<std::vector<std::int64_t>>(row.attr("strides"));
  else strides.resize(shape.size(), -1);  // filled below
  if (strides.size() != shape.size()) throw Failure("LaunchError", "a tensor has as many strides as extents");
  contiguous = true;
  std::int64_t next = 1;
  for (std::size_t i = shape.size(); i-- > 0; next *= shape[i]) {
    if (row.attr("strides").is_none()) strides[i] = next;
    if (shape[i] == 1) strides[i] = 0;
    else contiguous = contiguous && strides[i] == next;
  }
}

bool Signature::matches(const dl::Tensor& tensor) const {
  if (tensor.device.type != device.type || tensor.device.id != device.id) return false;
  if (std::memcmp(&tensor.dtype, &dtype, sizeof dtype) != 0) return false;
  if (static_cast<std::size_t>(tensor.rank) != shape.size() || tensor.address() % alignment != 0) return false;
  bool same = true;
  std::size_t i = 0;
  each_dimension(tensor, [&](std::int64_t extent, std::int64_t stride) {
    same = same && extent == shape[i] && stride == strides[i];
    ++i;
  });
  return same;
}

bool Signature::operator==(const Signature& other) const {
  return device.type == other.device.type && device.id == other.device.id &&
         std::memcmp(&dtype, &other.dtype, sizeof dtype) == 0 && alignment == other.alignment &&
         shape == other.shape && strides == other.strides;
}

std::uint64_t mix_tensor(std::uint64_t hash, const dl::Tensor& tensor) {
  hash = mix_head(hash, tensor.device, tensor.dtype, static_cast<std::size_t>(tensor.rank));
  each_dimension(tensor, [&](std::int64_t extent, std::int64_t stride) { hash = mix(mix(hash, extent), stride); });
  return hash;
}

std::uint64_t mix_signature(std::uint64_t hash, const Signature& signature) {
  hash = mix_head(hash, signature.device, signature.dtype, signature.shape.size());
  for (std::size_t i = 0; i < signature.shape.size(); ++i)
    hash = mix(mix(hash, signature.shape[i]), signature.strides[i]);
  return hash;
}

}  // namespace pyptx
