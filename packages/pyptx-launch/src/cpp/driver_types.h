// The types of the CUDA driver API that this package uses, declared from the API's documentation, so that the build
// needs no CUDA toolkit. The numbers are part of the API's ABI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyptx::cu {

using Result = int;
using Device = int;
using Address = std::uint64_t;  // CUdeviceptr
using Context = struct ContextHandle*;
using Kernel = struct KernelHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;

constexpr Result kSuccess = 0;

// CUdevice_attribute, CUfunction_attribute
constexpr int kSharedOptin = 97, kClusterLaunch = 120;
constexpr int kMaxThreads = 0, kStaticShared = 1, kMaxDynamicShared = 8, kNonPortableClusterAllowed = 14;

constexpr int kCaptureModeRelaxed = 2;      // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr unsigned kEventDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

// The NULL stream, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD mean streams of the current context.
inline bool is_default(Stream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

struct LaunchAttribute {  // CUlaunchAttribute
  int id;
  char padding[4];
  alignas(8) unsigned char value[64];
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

struct alignas(128) TensorMap {  // CUtensorMap: requires 64-byte alignment; CUDA 13 declares 128
  std::uint64_t words[16];
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace pyptx::cu
