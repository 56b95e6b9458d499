// DLPack 1.x, the stable ABI for exchanging tensors between frameworks; declared from its specification.
#pragma once

#include <cstdint>

namespace pyptx::dl {

struct Version { std::uint32_t major, minor; };
struct Device { std::int32_t type, id; };
struct DataType { std::uint8_t code, bits; std::uint16_t lanes; };

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t *shape, *strides;  // strides in elements; null (before DLPack 1.2) for contiguous tensors
  std::uint64_t byte_offset;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data) + byte_offset; }
};

// The functions of a tensor type's __dlpack_c_exchange_api__. They return 0, or -1 and set a Python exception.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  void* unused[3];  // functions that allocate and wrap tensors
  int (*tensor_from_object)(void* object, Tensor* out);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace pyptx::dl
