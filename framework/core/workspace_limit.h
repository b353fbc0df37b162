#pragma once

#include <cstddef>
#include <optional>

#include "kusari/framework/core/export.h"

namespace kusari {

namespace kernels {
/// Bytes of a device's memory. No kernel of arrays, but found like one, as BackendInfo is.
struct DeviceMemory {
  static constexpr const char* kName = "device_memory";
  using Signature = size_t(int index);
};
}  // namespace kernels

namespace detail {

/// What a device of so much memory gives to workspaces where nobody has said how much. Chainer's 8 MiB keep most
/// float32 convolutions of cards before Hopper off the tensor cores.
constexpr size_t default_max_workspace_size(size_t total_memory) {
  const size_t share = total_memory / 16, most = size_t{1} << 30;
  return share < most ? share : most;
}

/// What cuda::set_max_workspace_size or $KUSARI_MAX_WORKSPACE_SIZE said, for all devices.
KUSARI_API std::optional<size_t> given_cuda_workspace_size();

}  // namespace detail
}  // namespace kusari
