// The types of the CUDA driver API that this package uses, declared from its documentation, so that no toolkit is
// needed to build. Numbers are the API's, and part of its ABI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pyptx::cu {

using Result = int;
using Device = int;
using Address = std::uint64_t;  // CUdeviceptr
using Context = struct ContextHandle*;
using Library = struct LibraryHandle*;
using Kernel = struct KernelHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;

// CUdevice_attribute
enum DeviceAttribute : int {
  kMultiprocessors = 16,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedOptin = 97,
  kClusterLaunch = 120,
};

// CUfunction_attribute
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kStaticShared = 1,
  kConstant = 2,
  kLocal = 3,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kMaxDynamicShared = 8,
  kNonPortableClusterAllowed = 14,
};

// CUjit_option
enum JitOption : int {
  kInfoLog = 3,
  kInfoLogBytes = 4,
  kErrorLog = 5,
  kErrorLogBytes = 6,
};

// CUlaunchAttributeID
enum LaunchAttributeId : int {
  kClusterDimension = 4,
};

constexpr std::size_t kLaunchAttributeBytes = 64;

struct LaunchAttribute {  // CUlaunchAttribute
  int id;
  char padding[4];
  alignas(8) unsigned char value[kLaunchAttributeBytes];
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56);

struct alignas(64) TensorMap {  // CUtensorMap
  std::uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

constexpr int kCaptureModeRelaxed = 2;     // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

}  // namespace pyptx::cu
