#pragma once

#include <string>

namespace kusari::kernels {

/// What a backend says of itself in runtime_info(): lines of text. No kernel of arrays, but found like one, so that a
/// backend's library of another build need not have it.
struct BackendInfo {
  static constexpr const char* kName = "backend_info";
  using Signature = std::string();
};

}  // namespace kusari::kernels
