// DLPack 1.x, the stable ABI through which frameworks show, allocate and wrap tensors; declared from its specification.
#pragma once

#include <cstdint>

namespace pyptx::dl {

constexpr std::uint32_t kMajorVersion = 1;
constexpr const char* kCapsuleName = "dlpack_exchange_api";

struct Version {
  std::uint32_t major, minor;
};

struct Device {
  std::int32_t type, id;
};

struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null (before DLPack 1.2) for contiguous tensors
  std::uint64_t byte_offset;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data) + byte_offset; }
};

struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor*);
  std::uint64_t flags;
  Tensor tensor;
};

using SetError = void (*)(void* context, const char* kind, const char* message);

// The functions that a type offers as __dlpack_c_exchange_api__. Those that return int answer 0, or -1 with a Python
// exception set; the allocator tells its error to the function that it is given.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, ManagedTensor** out, void* context, SetError set_error);
  int (*managed_from_object)(void* object, ManagedTensor** out);
  int (*object_from_managed)(ManagedTensor* tensor, void** out);
  int (*tensor_from_object)(void* object, Tensor* out);  // may be null
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

// Element types by their names in PTX.
struct NamedType {
  const char* name;
  DataType type;
};

inline constexpr NamedType kTypes[] = {
    {"s8", {0, 8, 1}},    {"s16", {0, 16, 1}},  {"s32", {0, 32, 1}},   {"s64", {0, 64, 1}},  {"u8", {1, 8, 1}},
    {"u16", {1, 16, 1}},  {"u32", {1, 32, 1}},  {"u64", {1, 64, 1}},   {"f16", {2, 16, 1}},  {"f32", {2, 32, 1}},
    {"f64", {2, 64, 1}},  {"bf16", {4, 16, 1}}, {"bool", {6, 8, 1}},   {"e4m3", {10, 8, 1}}, {"e5m2", {12, 8, 1}},
    {"ue8m0", {14, 8, 1}}, {"e2m1x2", {17, 4, 2}},
};

}  // namespace pyptx::dl
