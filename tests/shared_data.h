#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kusari::testing {

/// Path of a file in the folder of real data (data/), which may be absent: the environment's KUSARI_SHARED, else
/// KUSARI_SHARED_DIR of the build. "" when there is no such file; tests are then skipped (skip.h). A test that needs
/// one is of the suite "needs NAME", which CTest runs by itself.
inline std::string shared_path(const std::string& name) {
  const char* root = std::getenv("KUSARI_SHARED");
  const std::filesystem::path path = std::filesystem::path(root && *root ? root : KUSARI_SHARED_DIR) / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

}  // namespace kusari::testing
